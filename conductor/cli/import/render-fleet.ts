import type { Fleet, FleetNode } from '#conductor/cli/import/fleet.ts';
import { describeMissingLogin } from '#conductor/cli/import/prepare-fleet.ts';
import { table } from '#conductor/cli/shell/print.ts';
import { counted } from '#shared/words.ts';

/** Goal of a node, or why it gets no further, in a word. */
function goalOf(node: FleetNode): string {
  if (node.refused !== undefined) return '-';
  return describeMissingLogin(node) === undefined ? node.goal : 'enroll';
}

/** Draws what would come and what would not, a row for each node. */
export function renderFleet(fleet: Fleet): string {
  const rows = fleet.nodes.map((node) => [
    node.name,
    node.driver,
    node.stateThere === '' ? '-' : node.stateThere,
    goalOf(node),
    String(node.ports.length),
    [...(node.refused === undefined ? [] : [node.refused]), ...node.left].join(', ') || '-',
  ]);
  const count = (goal: string): number => fleet.nodes.filter((node) => goalOf(node) === goal).length;
  const summary = [
    `${counted(count('active'), 'node')} adopted`,
    `${count('manageable')} manageable`,
    `${count('enroll')} in enroll`,
    `${count('-')} refused`,
    counted(fleet.templates?.length ?? 0, 'deploy template'),
    counted(fleet.nodes.filter(({ allocation }) => allocation).length, 'allocation'),
  ];
  return [
    table([['node', 'driver', `in ${fleet.source}`, 'here', 'ports', 'does not come'], ...rows]),
    `${summary.join(', ')}\n`,
    ...fleet.left.map((line) => `does not come: ${line}\n`),
  ].join('');
}
