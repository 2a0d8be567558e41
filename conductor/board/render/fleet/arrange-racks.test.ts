import { expect, test } from 'vitest';
import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { arrangeRacks, type Rack } from '#conductor/board/render/fleet/arrange-racks.ts';
import { isBigRoom, renderRack, renderRackCard } from '#conductor/board/render/fleet/render-racks.ts';
import type { BoardNode } from '#conductor/board/render/render-board.ts';
import { boardNode } from '#conductor/board/testing/board-node.ts';
import { textOf } from '#conductor/board/testing/text-of.ts';

const node = (name: string, rack: string | null, more: Partial<BoardNode> = {}): BoardNode =>
  boardNode({ uuid: `u-${name}`, name, power_state: null, driver: 'redfish', rack, ...more });
const flow = (name: string, status: FlowSummaryView['status']) =>
  ({ node_uuid: `u-${name}`, status, since: '2026-01-01T00:00:00Z', ended_at: null }) as FlowSummaryView;
const now = new Date('2026-01-01T00:10:00Z');
const cardsOf = (racks: readonly Rack[]) =>
  racks.map((rack) => String(renderRackCard(rack, { isBrief: isBigRoom(racks), now }))).join('');

test('racks and nodes are in the order in which people count, those without a rack last', () => {
  const nodes = [node('n10', 'r10'), node('n2', 'r2'), node('n10b', 'r2'), node('n9', 'r2'), node('x', null)];
  expect(arrangeRacks([], nodes).map(({ name, members }) => [name, members.map(({ row }) => row.node?.name)])).toEqual([
    ['r2', ['n2', 'n9', 'n10b']],
    ['r10', ['n10']],
    [null, ['x']],
  ]);
});

test.each<[Partial<BoardNode>, FlowSummaryView['status'] | undefined, string]>([
  [{}, undefined, 'used'],
  [{ provision_state: 'available' }, undefined, 'free'],
  [{ provision_state: 'enroll' }, undefined, 'idle'],
  [{ provision_state: 'clean failed' }, undefined, 'failed'],
  [{ maintenance: true }, undefined, 'maintenance'],
  [{ provision_state: 'deploying' }, 'waiting', 'working'],
  [{ provision_state: 'deploying' }, 'slow', 'slow'],
  [{ maintenance: true }, 'held', 'held'],
])('a node %j with a flow that is %s counts as %s', (more, status, expected) => {
  const racks = arrangeRacks(status ? [flow('n', status)] : [], [node('n', 'r', more)]);
  expect(racks[0]?.counts).toEqual([[expected, 1]]);
});

test('of a big fleet only what is not at rest is drawn, and all is counted', () => {
  const many = Array.from({ length: 2500 }, (_, index) => node(`n${index}`, 'r1'));
  const racks = arrangeRacks([flow('n7', 'retrying')], many);
  const html = cardsOf(racks);
  expect(html.match(/class="member [a-z]+/g)).toEqual(['class="member retrying']);
  expect(html).toContain('● 2499 in use');
});

test('a rack of which nothing has changed is the same again; one whose node or flow has is not', () => {
  const nodes = [node('a', 'r1'), node('b', 'r1'), node('c', 'r2')];
  const flows = [flow('a', 'working')];
  const racks = arrangeRacks(flows, nodes);
  const again = arrangeRacks(flows, nodes, racks);
  expect(again.map((rack, index) => rack === racks[index])).toEqual([true, true]);
  const changed = (moreFlows: readonly FlowSummaryView[], all: readonly BoardNode[]) =>
    arrangeRacks(moreFlows, all, racks).map((rack) => racks.includes(rack));
  expect(changed([flow('a', 'slow')], nodes)).toEqual([false, true]);
  expect(changed([], nodes)).toEqual([false, true]);
  expect(changed(flows, [node('a', 'r1'), ...nodes.slice(1)])).toEqual([false, true]);
  expect(changed(flows, nodes.slice(1))).toEqual([false, true]);
  expect(changed(flows, [...nodes.slice(0, 2), node('c', 'r1')])).toEqual([false]);
});

test('names of racks and nodes stay text', () => {
  const evil = `<script>alert(1)</script>"'&`;
  const html = cardsOf(arrangeRacks([], [node(evil, evil, { uuid: 'u1' })]));
  expect(html).not.toContain('<script');
  expect(html).toContain(`#racks/${encodeURIComponent(evil).replaceAll("'", '&#39;')}`);
});

test('where units are known a rack is shown from the top down, with its gaps; the longer a wait, the warmer', () => {
  const nodes = [
    node('low', 'r1', { rack_unit: 1 }),
    node('nowhere', 'r1'),
    node('high', 'r1', { rack_unit: 40 }),
    node('next', 'r1', { rack_unit: 39 }),
  ];
  const [rack] = arrangeRacks([flow('low', 'working')], nodes);
  const html = renderRack('r1', rack, now);
  expect(textOf(html)).toMatch(/40 ● high in use .*39 ● next in use .*1 ▶ low at work .*10 m ● nowhere in use/);
  expect(String(html).match(/class="(gap|member \w+ heat-\d)"/g)).toEqual([
    'class="member used heat-0"',
    'class="member used heat-0"',
    'class="gap"',
    'class="member working heat-2"',
    'class="member used heat-0"',
  ]);
});

test('one rack says of each node what it does, and why', () => {
  const members = [
    node('n1', 'r1', { provision_state: 'clean failed', last_error: 'no route to the BMC' }),
    node('n2', 'r1', { maintenance: true, maintenance_reason: 'a new fan' }),
  ];
  const text = textOf(renderRack('r1', arrangeRacks([], members)[0], now));
  expect(text).toContain('All racks / r1');
  expect(text).toMatch(/n1 .*clean failed · no route to the BMC/);
  expect(text).toMatch(/n2 .*in maintenance .*· a new fan/);
});
