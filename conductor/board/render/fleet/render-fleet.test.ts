import { expect, test } from 'vitest';
import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { arrangeFleet, type FleetSort } from '#conductor/board/render/fleet/arrange-fleet.ts';
import {
  countFleet,
  renderCounts,
  renderHead,
  renderNoRows,
  renderRow,
} from '#conductor/board/render/fleet/render-fleet.ts';
import { fleetColumns, naturalKey, usualColumns } from '#conductor/board/render/fleet-columns.ts';
import { html, joined } from '#conductor/board/render/html.ts';
import { type BoardNode, nameOf } from '#conductor/board/render/render-board.ts';
import { boardNode } from '#conductor/board/testing/board-node.ts';
import { textOf } from '#conductor/board/testing/text-of.ts';

const now = new Date('2026-01-01T00:10:00Z');
const fleet = { nodes: 3, in_maintenance: 1, critical: 0, provision_states: { active: 2, deploying: 1 } };
const byName: FleetSort = { column: 'node', isDown: false };
const look = { columns: usualColumns, sort: byName, chosen: new Set<string>(), mayChange: true };

const flow = (changes: Partial<FlowSummaryView> = {}): FlowSummaryView => ({
  uuid: 'f1',
  kind: 'deploy',
  code: null,
  subject: null,
  state: 'running',
  status: 'working',
  node_uuid: 'u1',
  node_name: 'n1',
  provision_state: 'deploying',
  conductor: 'c',
  requested_by: null,
  request_id: null,
  global_request_id: null,
  started_at: '2026-01-01T00:00:00Z',
  ended_at: null,
  step: 'deploy.write_image',
  step_uuid: 's1',
  may_skip: false,
  since: '2026-01-01T00:09:00Z',
  until: null,
  reason: null,
  attempt: 1,
  next_attempt_at: null,
  progress: null,
  ...changes,
});
interface Given {
  readonly flows?: readonly FlowSummaryView[];
  readonly nodes?: readonly BoardNode[];
  readonly filter?: string;
  readonly sort?: FleetSort;
}
const rowsOf = ({ flows = [], nodes = [], filter = '', sort = byName }: Given) =>
  arrangeFleet({ flows, nodes: new Map(nodes.map((node) => [node.uuid, node])), filter, sort });
const namesOf = (given: Given) => rowsOf(given).map(nameOf);
/** A line for each row, without tags. */
const linesOf = (given: Given) => rowsOf(given).map((row) => textOf(renderRow(row, look, now)));
const named = (...names: readonly string[]) => names.map((name) => boardNode({ uuid: `u-${name}`, name }));

test('counts the fleet, and each count is a link to those', () => {
  const counts = renderCounts({ ...fleet, provision_states: { active: 2, 'clean wait': 1 } });
  expect(textOf(counts)).toBe('3 nodes 2 active 1 clean wait 1 in maintenance');
  expect(String(counts)).toContain(`href="#${encodeURIComponent('state:"clean wait"')}"`);
});

test('shows what each node is doing and why it waits, in the order of names as people count', () => {
  const flows = [
    flow({
      node_uuid: 'u-n10',
      node_name: 'n10',
      progress: { phase: 'writing image', done_bytes: 25, total_bytes: 100, rate: 5e6 },
    }),
    flow({
      status: 'retrying',
      node_uuid: 'u-n2',
      node_name: 'n2',
      reason: 'the BMC does not answer',
      attempt: 3,
      next_attempt_at: '2026-01-01T00:10:05Z',
      until: '2026-01-01T00:12:00Z',
    }),
    flow({ status: 'failed', node_uuid: 'u3', node_name: null, reason: 'no disk' }),
  ];
  const nodes = [
    boardNode({ uuid: 'u9', name: 'n9', rack: 'r1', image: 'debian.raw' }),
    ...named('n10', 'n2'),
    boardNode({ uuid: 'u8', name: 'n8', maintenance: true, maintenance_reason: 'fan' }),
  ];
  expect(linesOf({ flows, nodes })).toEqual([
    'n2 ↻ retrying deploying deploy.write_image 1 m 00 s ● on attempt 3 again in 5.0 s gives up in 2 m 00 s the BMC does not answer',
    'n8 ⚑ in maintenance active ● on ⚑ maintenance: fan',
    'n9 ● in use active r1 debian.raw ● on',
    'n10 ▶ at work deploying 25 %, writing image , 5.0 MB/s deploy.write_image 1 m 00 s ● on',
    'u3 ✖ failed deploying deploy.write_image 1 m 00 s no disk',
  ]);
});

test('health by the BMC: in the reason while it is not OK, in a column, in the filter, and critical ones are counted', () => {
  const nodes = [
    boardNode({ uuid: 'a', name: 'a', health: 'Critical' }),
    boardNode({ uuid: 'b', name: 'b' }),
    boardNode({ uuid: 'c', name: 'c', health: 'OK' }),
    boardNode({ uuid: 'd', name: 'd', health: 'Warning' }),
  ];
  expect(linesOf({ nodes })).toEqual([
    'a ● in use active ● on ⚠ health: Critical',
    'b ● in use active ● on',
    'c ● in use active ● on',
    'd ● in use active ● on ⚠ health: Warning',
  ]);
  expect(namesOf({ nodes, sort: { column: 'health', isDown: false } })).toEqual(['a', 'd', 'c', 'b']);
  expect(namesOf({ nodes, filter: 'health:critical,warning' })).toEqual(['a', 'd']);
  expect(namesOf({ nodes, filter: 'health critical' })).toEqual(['a']);
  const [row] = rowsOf({ nodes });
  const cell = row && textOf(renderRow(row, { ...look, columns: ['node', 'health'] }, now));
  expect(cell).toBe('a Critical');
  const counts = renderCounts(countFleet(nodes));
  expect(textOf(counts)).toBe('4 nodes 4 active 1 of critical health');
  expect(String(counts)).toContain('href="#health%3Acritical"');
});

test('what an operator has aborted says so', () => {
  const [line] = linesOf({ flows: [flow({ status: 'failed', state: 'aborted' })] });
  expect(line).toContain('⊘ aborted');
});

test('every column sorts, up and down, and what says nothing there stands behind', () => {
  const nodes = [
    boardNode({ uuid: 'a', name: 'a', rack: 'r10', owner: 'us' }),
    boardNode({ uuid: 'b', name: 'b', rack: 'r9' }),
    boardNode({ uuid: 'c', name: 'c' }),
  ];
  expect(namesOf({ nodes, sort: { column: 'rack', isDown: false } })).toEqual(['b', 'a', 'c']);
  expect(namesOf({ nodes, sort: { column: 'rack', isDown: true } })).toEqual(['c', 'a', 'b']);
  expect(namesOf({ nodes, sort: { column: 'owner', isDown: false } })).toEqual(['a', 'b', 'c']);
  const flows = [flow({ node_uuid: 'b', status: 'failed' }), flow({ node_uuid: 'c', status: 'retrying' })];
  expect(namesOf({ flows, nodes, sort: { column: 'status', isDown: false } })).toEqual(['b', 'c', 'a']);
  for (const name of Object.keys(fleetColumns) as (keyof typeof fleetColumns)[])
    expect([name, namesOf({ flows, nodes, sort: { column: name, isDown: true } }).toSorted()]).toEqual([
      name,
      ['a', 'b', 'c'],
    ]);
});

test('rows that stood before and have gone are gone, and new ones come in their place', () => {
  const before = rowsOf({ nodes: named('n1', 'n3', 'n4') });
  const nodes = new Map(named('n4', 'n2', 'n3').map((node) => [node.uuid, node]));
  expect(arrangeFleet({ flows: [], nodes, filter: '', sort: byName }, before).map(nameOf)).toEqual(['n2', 'n3', 'n4']);
});

test.each([
  ['r2', 'r10'],
  ['n9', 'n010'],
  ['N1', 'n2'],
])('%s stands before %s', (a, b) => {
  expect(naturalKey(a) < naturalKey(b)).toBe(true);
});

test('headings say by which column rows are sorted; a reader chooses nothing', () => {
  const head = String(renderHead({ ...look, sort: { column: 'rack', isDown: true } }));
  expect(head.match(/aria-sort="\w+"/g)).toEqual(['aria-sort="descending"']);
  const [row] = rowsOf({ nodes: named('n1') });
  if (!row) throw new Error('no row');
  expect(String(renderRow(row, { ...look, chosen: new Set(['u-n1']) }, now))).toContain('aria-checked="true"');
  expect(String(renderRow(row, { ...look, mayChange: false }, now))).not.toContain('role="checkbox"');
});

test('a fleet that is not known yet is not an empty one, and an empty one says the next command', () => {
  const words = (facts: Partial<Parameters<typeof renderNoRows>[0]>) =>
    textOf(renderNoRows({ isKnown: true, nodes: 0, filter: '', isOffline: false, ...facts }));
  expect(words({ isKnown: false })).toBe('Reading the fleet…');
  expect(words({ isKnown: false, nodes: 3000 })).toContain('3000 so far');
  expect(words({ isKnown: false, isOffline: true })).toContain('not known');
  expect(words({})).toContain('baton node create');
  expect(words({ nodes: 7, filter: '<b>' })).toBe('No node matches &#60;b&#62; . Show all 7');
});

test('counts nodes by state, the most first', () => {
  const nodes = [boardNode({ provision_state: 'deploying' }), boardNode(), boardNode({ maintenance: true })];
  expect(countFleet(nodes)).toEqual({ ...fleet, provision_states: { active: 2, deploying: 1 } });
  expect(Object.keys(countFleet(nodes).provision_states)).toEqual(['active', 'deploying']);
});

test('filters by all that a row says', () => {
  const lines = (filter: string) => linesOf({ flows: [flow()], nodes: [boardNode()], filter });
  expect(lines('WRITE_image')).toHaveLength(1);
  expect(lines('power on')).toEqual(['n9 ● in use active ● on']);
  expect(lines('bdi')).toEqual([]);
});

test('machines’ text stays text', () => {
  const evil = `<script>alert(1)</script>"'&\u202e${'x'.repeat(10_000)}`;
  const flows = [flow({ node_name: evil, step: evil, reason: evil, progress: { phase: evil } })];
  const nodes = [boardNode({ name: evil, last_error: evil, image: evil, rack: evil, owner: evil })];
  const text = String(
    joined(
      rowsOf({ flows, nodes }).map((row) =>
        renderRow(row, { ...look, columns: Object.keys(fleetColumns) as never }, now),
      ),
      '',
    ),
  );
  expect(text).not.toContain('<script');
  expect(text.match(/<(?!\/?(tr|td|span|bdi|time|progress|a|button)\b)/g)).toBeNull();
  expect(text).toContain(String(html`<bdi>${evil}</bdi>`));
  expect(namesOf({ flows, filter: '<script>' })).toHaveLength(1);
});

test('filters by state, class and status, exactly, besides', () => {
  const nodes = [
    boardNode({ uuid: 'a', name: 'a', resource_class: 'GPU' }),
    boardNode({ uuid: 'b', name: 'b', provision_state: 'clean wait', resource_class: 'gpu' }),
    boardNode({ uuid: 'c', name: 'c', provision_state: 'error' }),
  ];
  const names = (filter: string) => namesOf({ flows: [flow()], nodes, filter });
  expect(names('class:gpu')).toEqual(['a', 'b']);
  expect(names('State:"clean wait",error')).toEqual(['b', 'c']);
  expect(names('class:gpu state:active')).toEqual(['a']);
  expect(names('status:working')).toEqual(['n1']);
  expect(names('status:used')).toEqual(['a']);
  expect(names('status:failed')).toEqual(['c']);
  expect(names('class:gp')).toEqual([]);
  for (const filter of ['state:', '__proto__:x', 'toString:x', '<b>']) expect(names(filter)).toEqual([]);
});

test('filters by rack, traits, owner, driver, image and group', () => {
  const nodes = [
    boardNode({
      uuid: 'a',
      name: 'a',
      rack: 'R1',
      traits: ['CUSTOM_GPU', 'CUSTOM_X'],
      owner: 'us',
      conductor_group: 'east',
      image: 'debian.raw',
    }),
    boardNode({ uuid: 'b', name: 'b', rack: 'r2', driver: 'redfish' }),
  ];
  const names = (filter: string) => namesOf({ nodes, filter });
  for (const filter of [
    'rack:r1',
    'trait:custom_x',
    'trait:no,CUSTOM_GPU',
    'owner:us',
    'group:east',
    'image:debian.raw',
    'r1 custom',
  ])
    expect([filter, names(filter)]).toEqual([filter, filter === 'r1 custom' ? [] : ['a']]);
  expect(names('rack:r1,r2 driver:redfish')).toEqual(['b']);
  expect(names('trait:x')).toEqual([]);
});
