import { expect, test } from 'vitest';
import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { asCurl } from '#conductor/board/data/ask-api.ts';
import { actionsFor, actionsForRows, joinSubject, type Subject } from '#conductor/board/render/board-actions.ts';
import type { BoardNode } from '#conductor/board/render/render-board.ts';
import { boardNode } from '#conductor/board/testing/board-node.ts';
import { flowView } from '#conductor/cli/testing/flow-views.ts';

const uuid = '11111111-1111-4111-8111-111111111111';
const node = (more: Partial<BoardNode> = {}): BoardNode =>
  boardNode({ uuid, name: 'n1', provision_state: 'deploying', ...more });
const open = { kind: 'deploy', ended_at: null };
const ended = { kind: 'deploy', ended_at: '2026-01-01T00:09:00Z' };
const names = (subject: Partial<Subject>) =>
  Object.keys(actionsFor({ node: node(), flow: undefined, onHold: null, ...subject }));

test('to a flow under way: go on if it rests, abort, maintenance', () => {
  expect(names({ flow: open })).toEqual(['abort', 'maintenance']);
  expect(names({ flow: open, onHold: 'your word' })).toEqual(['unhold', 'abort', 'maintenance']);
});

test('what waits may be tried at once, and left out where that may be', () => {
  const waiting = { ...open, status: 'retrying', step: 'bios.apply', step_uuid: 's1', may_skip: true } as const;
  expect(names({ flow: waiting })).toEqual(['retry', 'skip', 'abort', 'maintenance']);
  expect(names({ flow: { ...waiting, may_skip: false } })).toEqual(['retry', 'abort', 'maintenance']);
  expect(names({ flow: { ...waiting, status: 'working' } })).toEqual(['abort', 'maintenance']);
  const { skip } = actionsFor({ node: node(), flow: waiting, onHold: null });
  expect(skip).toMatchObject({
    title: 'Skip bios.apply',
    request: { method: 'POST', path: `v1/nodes/${uuid}/flow/skip`, body: { step: 's1' } },
  });
});

test.each([
  ['enroll', ['manage']],
  ['manageable', ['inspect', 'provide']],
  ['available', ['manage', 'active']],
  ['active', ['rebuild', 'deleted']],
  ['deploy failed', ['active', 'rebuild', 'deleted']],
  ['clean failed', ['manage']],
  ['a state of a later version', []],
])('to a node that rests in %s: what its state allows, power but what it has, maintenance', (state, verbs) => {
  const resting = { node: node({ provision_state: state }), flow: ended };
  expect(names(resting)).toEqual([...verbs, 'power-off', 'rebooting', 'maintenance']);
  const off = node({ provision_state: state, power_state: 'power off' });
  expect(names({ node: off })).toEqual([...verbs, 'power-on', 'rebooting', 'maintenance']);
});

test('of a node from a dump it is said what it is, and nothing else is offered that would touch it', () => {
  const restored = node({ maintenance: true, fault: 'restored' });
  for (const flow of [open, ended, undefined]) {
    expect(names({ node: restored, flow, onHold: 'a word' })).toEqual(['adopt', 'manage', 'maintenance']);
  }
  const { adopt } = actionsFor({ node: restored, flow: open, onHold: null });
  expect(adopt?.request.body).toEqual({ target: 'adopt' });
});

test.each([
  ['bmc_login', 'redfish', 'Correct the BMC’s login', ['Address of the BMC', 'User', 'Password']],
  ['bmc_unreachable', 'ipmi', 'Correct the BMC’s login', ['Address of the BMC', 'User', 'Password']],
  ['image_missing', 'ipmi', 'Correct the image', ['URL of the image', expect.stringContaining('Checksum')]],
  [
    'image_too_large',
    'ipmi',
    'Correct the image',
    [expect.anything(), expect.anything(), expect.stringContaining('root disk')],
  ],
  ['disk_choice', 'ipmi', 'Correct the root disk', [expect.stringContaining('root disk')]],
])('what %s is about can be corrected', (code, driver, title, labels) => {
  const failed = { ...ended, code, status: 'failed' } as const;
  const subject = { node: node({ provision_state: 'deploy failed', driver }), flow: failed, onHold: null };
  const { correct } = actionsFor(subject);
  expect(correct).toMatchObject({ title, request: { method: 'PATCH', path: `v1/nodes/${uuid}` } });
  expect(correct?.fields?.map(({ label }) => label)).toEqual(labels);
  // not amid a flow, which would be refused
  expect(names({ ...subject, flow: { ...failed, ended_at: null } })).not.toContain('correct');
});

test('corrections are a JSON patch', () => {
  const failed = { ...ended, code: 'image_checksum', status: 'failed' } as const;
  const fixed = node({ provision_state: 'deploy failed' });
  const { correct } = actionsFor({ node: fixed, flow: failed, onHold: null });
  const [, checksum] = correct?.fields ?? [];
  expect(checksum?.write(`sha512:${'a'.repeat(128)}`)).toEqual([
    { op: 'add', path: '/instance_info/image_os_hash_algo', value: 'sha512' },
    { op: 'add', path: '/instance_info/image_os_hash_value', value: 'a'.repeat(128) },
  ]);
  const login = actionsFor({
    node: node({ provision_state: 'enroll', driver: 'ipmi' }),
    flow: { ...failed, code: 'bmc_login' },
    onHold: null,
  });
  expect(login['correct']?.fields?.at(-1)).toMatchObject({ isSecret: true });
  expect(login['correct']?.fields?.at(-1)?.write('x')).toEqual([
    { op: 'add', path: '/driver_info/ipmi_password', value: 'x' },
  ]);
});

test('held power is released where the page says why it is held, and a call under way is not tried again', () => {
  const held = { ...open, status: 'retrying', code: 'power_held' } as const;
  expect(names({ flow: held })).toContain('release-power');
  expect(names({ flow: { ...held, status: 'slow', code: 'bmc_silent' } })).toEqual(['abort', 'maintenance']);
});

test('what destroys something has a plan', () => {
  const actions = actionsFor({ node: node({ provision_state: 'active' }), flow: ended, onHold: null });
  expect(actions['rebuild']?.plan).toEqual({ target: 'rebuild', isBinding: true });
  expect(actions['deleted']?.plan).toEqual({ target: 'provide', isBinding: false });
  expect(actions['power-off']?.plan).toBeUndefined();
});

test('maintenance ends where it has begun', () => {
  const { maintenance } = actionsFor({ node: node({ maintenance: true }), flow: undefined, onHold: null });
  expect(maintenance?.request).toEqual({ method: 'DELETE', path: `v1/nodes/${uuid}/maintenance` });
});

test('of many rows each action has the nodes that may take it, those of most nodes first', () => {
  const summary = { kind: 'clean', ended_at: null, status: 'held', reason: 'hold step' } as FlowSummaryView;
  const rows = [
    { flow: undefined, node: node({ provision_state: 'available', name: 'a' }) },
    { flow: undefined, node: node({ provision_state: 'available', name: 'b' }) },
    { flow: summary, node: node({ provision_state: 'clean hold', name: 'c' }) },
    { flow: { ...summary, status: 'held' as const }, node: node({ name: 'd', maintenance: true }) },
    { flow: summary, node: undefined },
  ];
  const actions = actionsForRows(rows);
  const nodesOf = (title: string) => actions[title]?.nodes.map((each) => each.node.name);
  expect(Object.keys(actions)[0]).toBe('Begin maintenance');
  expect(nodesOf('Begin maintenance')).toEqual(['a', 'b', 'c']);
  expect(nodesOf('Deploy')).toEqual(['a', 'b']);
  expect(nodesOf('Abort the clean')).toEqual(['c', 'd']);
  expect(nodesOf('Go on')).toEqual(['c']);
  expect(nodesOf('End maintenance')).toEqual(['d']);
});

test('each request is shown as a shell would send it', () => {
  const { abort } = actionsFor({ node: node(), flow: open, onHold: null });
  if (!abort) throw new Error('no abort');
  expect(asCurl(abort.request, 'https://baton:6385')).toBe(
    `curl -X PUT -H "Authorization: Bearer $TOKEN" -H 'X-OpenStack-Ironic-API-Version: 1.110' -H 'Content-Type: application/json' -d '{"target":"abort"}' 'https://baton:6385/v1/nodes/${uuid}/states/provision'`,
  );
});

test('on its own page a node that has failed offers what corrects the failure', () => {
  const failed = node({ provision_state: 'deploy failed', driver: 'redfish' });
  const read = flowView([], { state: 'failed', started_at: '2026-01-01T00:08:00Z', ended_at: ended.ended_at });
  const followed = { ...read, status: 'failed', code: 'disk_failing' } as unknown as FlowSummaryView;
  expect(Object.keys(actionsFor(joinSubject(failed, read, followed)))).toContain('correct');
  // of another flow the code says nothing
  expect(joinSubject(failed, read, { ...followed, uuid: 'another' }).flow).toBe(read);
  const open = { ...followed, ended_at: null };
  expect(joinSubject(failed, { ...read, ended_at: null }, open).flow).toBe(open);
});
