import { expect, test } from 'vitest';
import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { arrangeRacks } from '#conductor/board/render/arrange-racks.ts';
import type { BoardNode } from '#conductor/board/render/render-board.ts';
import { boardNode } from '#conductor/board/testing/board-node.ts';
import { renderRacks } from '#conductor/board/views/racks-view.ts';

const node = (name: string, rack: string | null, more: Partial<BoardNode> = {}): BoardNode =>
  boardNode({ uuid: `u-${name}`, name, power_state: null, driver: 'redfish', rack, ...more });
const flow = (name: string, status: FlowSummaryView['status']) =>
  ({ node_uuid: `u-${name}`, status }) as FlowSummaryView;
const fleetOf = (...nodes: BoardNode[]) => new Map(nodes.map((each) => [each.uuid, each]));

test('racks and nodes are in the order in which people count, those without a rack last', () => {
  const nodes = fleetOf(node('n10', 'r10'), node('n2', 'r2'), node('n10b', 'r2'), node('n9', 'r2'), node('x', null));
  expect(arrangeRacks([], nodes).map(({ name, members }) => [name, members.map(({ row }) => row.node?.name)])).toEqual([
    ['r2', ['n2', 'n9', 'n10b']],
    ['r10', ['n10']],
    [null, ['x']],
  ]);
});

test.each<[Partial<BoardNode>, FlowSummaryView['status'] | undefined, string]>([
  [{}, undefined, 'in use'],
  [{ provision_state: 'available' }, undefined, 'free'],
  [{ provision_state: 'enroll' }, undefined, 'not ready'],
  [{ provision_state: 'clean failed' }, undefined, 'failed'],
  [{ maintenance: true }, undefined, 'in maintenance'],
  [{ provision_state: 'deploying' }, 'waiting', 'at work'],
  [{ provision_state: 'deploying' }, 'slow', 'waits for long'],
  [{ maintenance: true }, 'held', 'held'],
])('a node %j with a flow that is %s counts as %s', (more, status, expected) => {
  const racks = arrangeRacks(status ? [flow('n', status)] : [], fleetOf(node('n', 'r', more)));
  expect(racks[0]?.counts).toEqual([[expected, 1]]);
});

test('of a big fleet only what is not at rest is drawn, and all is counted', () => {
  const many = Array.from({ length: 2500 }, (_, index) => node(`n${index}`, 'r1'));
  const html = renderRacks(arrangeRacks([flow('n7', 'retrying')], fleetOf(...many)));
  expect(html.match(/class="[a-z]+ cell"/g)).toEqual(['class="retrying cell"']);
  expect(html).toContain('● 2499 in use');
});

test('names of racks and nodes stay text', () => {
  const evil = `<script>alert(1)</script>"'&`;
  const html = renderRacks(arrangeRacks([], fleetOf(node(evil, evil, { uuid: 'u1' }))));
  expect(html).not.toContain('<script');
  expect(html).toContain(`#racks/${encodeURIComponent(evil).replaceAll("'", '&#39;')}`);
});
