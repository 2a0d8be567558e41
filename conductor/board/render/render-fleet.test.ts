import { expect, test } from 'vitest';
import type { FlowSummaryView } from '#conductor/api/flows.ts';
import {
  arrangeRows,
  type BoardPicture,
  countFleet,
  escapeHtml,
  renderCounts,
  renderRows,
} from '#conductor/board/render/render-board.ts';
import { boardNode } from '#conductor/board/testing/board-node.ts';

const now = new Date('2026-01-01T00:10:00Z');
const fleet = { nodes: 3, in_maintenance: 1, provision_states: { active: 2, deploying: 1 } };

const flow = (changes: Partial<FlowSummaryView> = {}): FlowSummaryView => ({
  uuid: 'f1',
  kind: 'deploy',
  state: 'running',
  status: 'working',
  node_uuid: 'u1',
  node_name: 'n1',
  provision_state: 'deploying',
  conductor: 'c',
  requested_by: null,
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
const rendered = (picture: BoardPicture) => renderRows(arrangeRows(picture), now);
/** Without tags, a line for each row. */
const textOf = (html: string) =>
  html
    .split('</tr>')
    .map((row) =>
      row
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/ +/g, ' ')
        .trim(),
    )
    .filter((row) => row !== '');

test('counts the fleet', () => {
  expect(renderCounts(fleet)).toBe(
    '<li><b>3</b> nodes</li><li><b>2</b> active</li><li><b>1</b> deploying</li><li><b>1</b> in maintenance</li>',
  );
});

test('shows what each node is doing and why it waits, the worst first, those at rest last', () => {
  const flows = [
    flow({ progress: { phase: 'writing image', done_bytes: 25, total_bytes: 100, rate: 5e6 } }),
    flow({
      status: 'retrying',
      node_uuid: 'u2',
      node_name: 'n2',
      reason: 'the BMC does not answer',
      attempt: 3,
      next_attempt_at: '2026-01-01T00:10:05Z',
      until: '2026-01-01T00:12:00Z',
    }),
    flow({ status: 'failed', node_uuid: 'u3', node_name: null, reason: 'no disk' }),
  ];
  const nodes = [
    boardNode(),
    boardNode({ uuid: 'u1', name: 'n1' }),
    boardNode({ uuid: 'u8', name: 'n8', maintenance: true, maintenance_reason: 'fan' }),
  ];
  expect(textOf(rendered({ flows, nodes, filter: '' }))).toEqual([
    '✖ failed u3 deploying deploy.write_image 1 m 00 s ago no disk',
    '↻ retrying n2 deploying deploy.write_image 1 m 00 s, attempt 3, again in 5.0 s, gives up in 2 m 00 s the BMC does not answer',
    '▶ working n1 deploying deploy.write_image 1 m 00 s 25 %, writing image , 5.0 MB/s',
    '○ power on n9 active',
    '○ power on n8 active ⚑ maintenance: fan',
  ]);
});

test('counts nodes by state, the most first', () => {
  const nodes = [boardNode({ provision_state: 'deploying' }), boardNode(), boardNode({ maintenance: true })];
  expect(countFleet(nodes)).toEqual({ ...fleet, provision_states: { active: 2, deploying: 1 } });
  expect(Object.keys(countFleet(nodes).provision_states)).toEqual(['active', 'deploying']);
});

test('filters by all that a row says', () => {
  const rows = (filter: string) => textOf(rendered({ flows: [flow()], nodes: [boardNode()], filter }));
  expect(rows('WRITE_image')).toHaveLength(1);
  expect(rows('power on')).toEqual(['○ power on n9 active']);
  expect(rows('bdi')).toEqual(['no node']);
});

test('machines’ text stays text', () => {
  const evil = `<script>alert(1)</script>"'&\u202e${'x'.repeat(10_000)}`;
  const flows = [flow({ node_name: evil, step: evil, reason: evil, progress: { phase: evil } })];
  const html = rendered({ flows, nodes: [boardNode({ name: evil, last_error: evil })], filter: '' });
  expect(html).not.toContain('<script');
  expect(html.match(/<(?!\/?(tr|td|span|bdi|time|progress|a)\b)/g)).toBeNull();
  expect(html).toContain(`<bdi>${escapeHtml(evil)}</bdi>`);
  expect(textOf(rendered({ flows, nodes: [], filter: '<script>' }))[0]).toContain('working');
});

test('filters by state, class and status, exactly, besides', () => {
  const nodes = [
    boardNode({ name: 'a', resource_class: 'GPU' }),
    boardNode({ name: 'b', provision_state: 'clean wait', resource_class: 'gpu' }),
    boardNode({ name: 'c', provision_state: 'error' }),
  ];
  const names = (filter: string) =>
    arrangeRows({ flows: [flow()], nodes, filter }).map((row) => row.flow?.node_name ?? row.node?.name);
  expect(names('class:gpu')).toEqual(['a', 'b']);
  expect(names('State:"clean wait",error')).toEqual(['b', 'c']);
  expect(names('class:gpu state:active')).toEqual(['a']);
  expect(names('status:working')).toEqual(['n1']);
  expect(names('class:gp')).toEqual([]);
  for (const filter of ['state:', '__proto__:x', 'toString:x', '<b>']) expect(names(filter)).toEqual([]);
});

test('filters by rack, traits, owner, driver and group', () => {
  const nodes = [
    boardNode({
      uuid: 'a',
      name: 'a',
      rack: 'R1',
      traits: ['CUSTOM_GPU', 'CUSTOM_X'],
      owner: 'us',
      conductor_group: 'east',
    }),
    boardNode({ uuid: 'b', name: 'b', rack: 'r2', driver: 'redfish' }),
  ];
  const names = (filter: string) => arrangeRows({ flows: [], nodes, filter }).map((row) => row.node?.name);
  for (const filter of ['rack:r1', 'trait:custom_x', 'trait:no,CUSTOM_GPU', 'owner:us', 'group:east', 'r1 custom'])
    expect([filter, names(filter)]).toEqual([filter, filter === 'r1 custom' ? [] : ['a']]);
  expect(names('rack:r1,r2 driver:redfish')).toEqual(['b']);
  expect(names('trait:x')).toEqual([]);
});
