import { expect, test } from 'vitest';
import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { arrangeTroubles, causeOf, listAborted } from '#conductor/board/render/arrange-troubles.ts';
import { formatClock } from '#conductor/board/render/clock.ts';
import { renderAttention } from '#conductor/board/render/render-attention.ts';
import type { BoardNode } from '#conductor/board/render/render-board.ts';
import { boardNode } from '#conductor/board/testing/board-node.ts';
import { textOf } from '#conductor/board/testing/text-of.ts';
import { actionTroubles, buttonsFor } from '#conductor/board/views/attention-view.ts';

const now = new Date('2026-01-01T00:10:00Z');
const node = (name: string, more: Partial<BoardNode> = {}): BoardNode =>
  boardNode({ uuid: `uuid-${name}`, name, power_state: null, driver: 'redfish', rack: 'r7', ...more });
const flow = (name: string, more: Partial<FlowSummaryView> = {}): FlowSummaryView => ({
  uuid: `flow-${name}`,
  kind: 'deploy',
  code: null,
  subject: null,
  state: 'waiting',
  status: 'retrying',
  node_uuid: `uuid-${name}`,
  node_name: name,
  provision_state: 'wait call-back',
  conductor: 'c',
  requested_by: null,
  request_id: null,
  global_request_id: null,
  started_at: '2026-01-01T00:00:00Z',
  ended_at: null,
  step: 'deploy.boot_ramdisk',
  step_uuid: `step-${name}`,
  may_skip: false,
  since: '2026-01-01T00:05:00Z',
  until: '2026-01-01T00:15:00Z',
  reason: `the BMC of ${name} at 10.0.0.${name.length}: connect ETIMEDOUT`,
  attempt: 3,
  next_attempt_at: '2026-01-01T00:10:04Z',
  progress: null,
  ...more,
});
const fleetOf = (...nodes: BoardNode[]) => new Map(nodes.map((each) => [each.uuid, each]));
const picture = (flows: FlowSummaryView[], nodes: BoardNode[]) => ({
  troubles: arrangeTroubles(flows, fleetOf(...nodes)),
  others: [],
  isKnown: true,
  aborted: listAborted(flows, fleetOf(...nodes)),
  advice: new Map<string, string>(),
  nodes,
  working: flows.length,
  buttonsOf: buttonsFor,
});
test('the same cause on many nodes is one trouble; the one that stops most comes first, then the worst', () => {
  const flows = [
    flow('n1'),
    flow('n22', { until: '2026-01-01T00:11:00Z' }),
    flow('n3', { reason: 'the agent is lost' }),
    flow('n4', { status: 'failed', reason: 'sha256 differs', until: null, ended_at: '2026-01-01T00:06:00Z' }),
    flow('n5', { status: 'working' }),
  ];
  const troubles = arrangeTroubles(flows, fleetOf(...['n1', 'n22', 'n3', 'n4', 'n5'].map((name) => node(name))));
  expect(troubles.map(({ status, rows }) => [status, rows.map((row) => row.flow?.node_name)])).toEqual([
    ['retrying', ['n22', 'n1']],
    ['failed', ['n4']],
    ['retrying', ['n3']],
  ]);
  expect(new Set(troubles.map(({ key }) => key)).size).toBe(3);
  expect(arrangeTroubles(flows.toReversed(), fleetOf()).map(({ key }) => key)).toEqual(troubles.map(({ key }) => key));
});

test('one dead switch is one line with its nodes, whatever step each has come to; another switch is another', () => {
  const dead = (name: string, port: number, more: Partial<FlowSummaryView> = {}) =>
    flow(name, { reason: `set the port of ${name}: ssh:127.0.0.1:${port}: connect ECONNREFUSED`, ...more });
  const flows = [
    dead('n1', 40711),
    dead('n2', 40711, { step: 'deploy.switch_to_tenant_network' }),
    dead('n3', 40711, { kind: 'clean', step: 'clean.leave_network', status: 'failed' }),
    dead('n4', 40712),
    dead('n5', 40712),
    dead('n6', 40713),
    dead('n7', 40714),
  ];
  const troubles = arrangeTroubles(flows, fleetOf());
  expect(
    troubles.map(({ rows }) =>
      rows.map((row) => row.flow?.node_name).toSorted((a, b) => String(a).localeCompare(String(b))),
    ),
  ).toEqual([
    ['n1', 'n2', 'n3'],
    ['n4', 'n5'],
    ['n6', 'n7'],
  ]);
  expect(troubles[0]).toMatchObject({
    status: 'failed',
    doing: expect.arrayContaining(['deploy ▸ deploy.boot_ramdisk', 'clean ▸ clean.leave_network']),
  });
});

test('one cause has a code and a subject, whatever its words are; another subject is another cause', () => {
  const dead = (name: string, subject: string, reason: string) =>
    flow(name, { code: 'switch_unreachable', subject, reason });
  const flows = [
    dead('n1', 'leaf1', 'set the port: connect ECONNREFUSED'),
    dead('n2', 'leaf1', 'read the port: no answer in 30 s'),
    dead('n3', 'leaf2', 'set the port: connect ECONNREFUSED'),
    dead('n4', 'leaf2', 'set the port: connect ECONNREFUSED'),
    flow('n5', { code: 'image_missing', subject: 'leaf1', reason: 'set the port: connect ECONNREFUSED' }),
  ];
  expect(
    arrangeTroubles(flows, fleetOf()).map(({ rows }) =>
      rows.map((row) => row.flow?.node_name).toSorted((a, b) => String(a).localeCompare(String(b))),
    ),
  ).toEqual([['n1', 'n2'], ['n3', 'n4'], ['n5']]);
});

test('what an operator has aborted is no failure; it is listed apart', () => {
  const flows = [flow('n1', { status: 'failed', state: 'aborted', reason: 'aborted by ada' })];
  const nodes = [node('n1', { provision_state: 'deploy failed', last_error: 'aborted by ada' })];
  expect(arrangeTroubles(flows, fleetOf(...nodes))).toEqual([]);
  const text = textOf(renderAttention(picture(flows, nodes), now));
  expect(text).toContain('Nothing needs you');
  expect(text).toContain('Aborted by an operator: 1 n1');
});

test('before the fleet is known nothing is said to be in peace', () => {
  const text = textOf(renderAttention({ ...picture([], []), isKnown: false }, now));
  expect(text).toBe('Reading the fleet…');
});

test('commands stand as code, each with what copies it; an odd backtick means none', () => {
  const given = picture([flow('n1')], [node('n1')]);
  const key = given.troubles[0]?.key ?? '';
  const html = (words: string) =>
    renderAttention({ ...given, advice: new Map([[key, words]]) }, now)
      .map(String)
      .join('');
  expect(html('Then `baton rebuild n1`.')).toContain(
    '<code>baton rebuild n1</code><button type="button" class="copy" data-copy="baton rebuild n1" aria-label="Copy baton rebuild n1"',
  );
  expect(html('An odd ` one')).not.toContain('<code>');
});

test('a node that rests broken needs somebody; one whose error is a memory does not', () => {
  const nodes = [
    node('n1', { provision_state: 'enroll', last_error: 'no route to the BMC' }),
    node('n2', { provision_state: 'active', last_error: 'an error of last year' }),
  ];
  expect(arrangeTroubles([], fleetOf(...nodes)).map(({ rows }) => rows.map((row) => row.node?.name))).toEqual([['n1']]);
});

test('machines that are not well need somebody, whatever their nodes do; those in maintenance have somebody', () => {
  const nodes = [
    node('n1', { health: 'Warning' }),
    node('n2', { health: 'Critical', provision_state: 'deploying' }),
    node('n3', { health: 'Critical' }),
    node('n4', { health: 'Critical', maintenance: true, maintenance_reason: 'ada has it' }),
    node('n5', { health: 'OK' }),
    node('n6'),
  ];
  const given = picture([flow('n2', { status: 'working' })], nodes);
  expect(given.troubles.map(({ status, rows }) => [status, rows.map((row) => row.node?.name)])).toEqual([
    ['critical', ['n2', 'n3']],
    ['warning', ['n1']],
  ]);
  const text = textOf(renderAttention(given, now));
  expect(text).toContain('✖ critical health 2 nodes in r7 n2 n3');
  expect(text).toContain('⚠ health warning n1');
  expect(text).toContain('Begin maintenance…');
  expect(text).toContain('n4 ⚑ maintenance: ada has it ⚠ health: Critical');
});

test.each([
  ['n1: dial 10.0.0.7:443', 'n1', '…: dial #.#.#.#:#'],
  ['52:54:00:12:34:56 is silent', 'n1', '… is silent'],
  ['node 11111111-1111-4111-8111-111111111111 is locked', 'n1', 'node … is locked'],
  ['at fd00:1::7', 'n1', 'at …'],
])('%j has the cause %j', (reason, name, cause) => {
  expect(causeOf(reason, name)).toBe(cause);
});

test('a trouble says whom, since when, until when, and what may be done', () => {
  const given = picture([flow('n1'), flow('n22')], [node('n1'), node('n22')]);
  const [trouble] = given.troubles;
  const advice = new Map([[trouble?.key ?? '', 'Look at the BMC.']]);
  const text = textOf(renderAttention({ ...given, advice }, now));
  expect(text).toContain(
    `↻ retrying 2 nodes in r7 n1 n22 deploy ▸ deploy.boot_ramdisk since ${formatClock('2026-01-01T00:05:00Z').slice(0, 5)} (5 m 00 s)`,
  );
  expect(text).toContain(', attempt 3, again in 4.0 s , gives up in 5 m 00 s');
  expect(text).toContain('Look at the BMC.');
  expect(text).toContain('Try now… Begin maintenance… Act…');
});

test.each([
  ['deploy', 'deploy failed', 'Rebuild…'],
  ['inspect', 'inspect failed', 'Inspect…'],
  ['clean', 'clean failed', 'Manage…'],
  ['verify', 'enroll', 'Manage…'],
])('what has failed as %s in %s is tried again in two clicks', (kind, state, title) => {
  const failed = flow('n1', { kind, status: 'failed', ended_at: '2026-01-01T00:06:00Z' });
  const [trouble] = arrangeTroubles([failed], fleetOf(node('n1', { provision_state: state })));
  expect(trouble && buttonsFor(trouble).map((button) => button.title)).toContain(title);
});

test('a quiet fleet says so, and who has which node in his hands', () => {
  const text = textOf(
    renderAttention(
      picture([], [node('n1'), node('n2', { maintenance: true, maintenance_reason: 'ada: a new fan' })]),
      now,
    ),
  );
  expect(text).toBe(
    'Nothing needs you: 2 nodes, 2 active, 0 at work. In maintenance: 1 n2 ⚑ maintenance: ada: a new fan',
  );
});

test('machines’ words stay words', () => {
  const evil = `<script>alert(1)</script>"'&`;
  const html = renderAttention(
    {
      ...picture(
        [flow(evil, { node_uuid: 'u1', reason: evil, step: evil, may_skip: true })],
        [node(evil, { uuid: 'u1', rack: evil, maintenance: true, maintenance_reason: evil })],
      ),
      others: [{ what: 'allocation', name: evil, reason: evil, href: '#allocations/', since: null }],
    },
    now,
  )
    .map(String)
    .join('');
  expect(html).toContain('&#60;script');
  expect(html).not.toContain('<script');
  // inside tags there is nothing of theirs, but in addresses, encoded
  expect(html.match(/<[^>]*alert\((?!1\)%3C)[^>]*>/g)).toBeNull();
});

type Acted = Parameters<typeof actionTroubles>[0][number];
test.each<[string, readonly [Acted['name'], Acted['action_lifecycle']][], readonly string[]]>([
  [
    'one that is paused, beside a newer look',
    [
      ['verify_site', 'Complete'],
      ['deploy_site', 'Paused'],
    ],
    ['‖ action paused: deploy_site'],
  ],
  [
    'one that failed, beside a newer look',
    [
      ['verify_site', 'Processing'],
      ['deploy_site', 'Failed'],
      ['update_site', 'Failed'],
    ],
    ['✖ action failed: deploy_site'],
  ],
  [
    'both',
    [
      ['verify_site', 'Failed'],
      ['deploy_site', 'Paused'],
    ],
    ['✖ action failed: verify_site', '‖ action paused: deploy_site'],
  ],
  [
    'none that was done again',
    [
      ['update_site', 'Complete'],
      ['verify_site', 'Failed'],
      ['deploy_site', 'Failed'],
    ],
    [],
  ],
  ['none of none', [], []],
])('of actions somebody is needed for %s', (_, given, expected) => {
  const actions = given.map(([name, state], index) => ({
    id: `${index}`,
    name,
    action_lifecycle: state,
    error: null,
    ended_at: null,
  }));
  expect(actionTroubles(actions).map(({ what, name }) => `${what}: ${name}`)).toEqual(expected);
});

test('nodes of one cause are named in the order in which people count', () => {
  const names = ['n10', 'n2', 'n1'];
  const flows = names.map((name, index) => flow(name, { until: `2026-01-01T00:1${index}:00Z`, reason: 'no answer' }));
  const text = textOf(
    renderAttention(
      picture(
        flows,
        names.map((name) => node(name)),
      ),
      now,
    ),
  );
  expect(text).toContain('3 nodes in r7 n1 n2 n10 ');
  expect(text).toMatch(/of n10 ?; the others alike/);
});

test('nodes that rest since a restore are one line, with the words by which they go on', () => {
  const more = { maintenance: true, fault: 'restored', maintenance_reason: 'restored from a dump' } as const;
  const given = picture([], [node('n1', more), node('n2', more), node('n3', { maintenance: true })]);
  const text = textOf(renderAttention(given, now));
  expect(text).not.toContain('Nothing needs you');
  expect(text).toContain('held 2 nodes in r7 n1 n2');
  expect(text).toContain('restored from a dump');
  expect(text).toContain('Adopt as it runs… Manage as it is…');
  expect(text).toContain('In maintenance: 1 n3');
});

test('machines that are not as they were accepted are one trouble, until somebody accepts them or their flow says it', () => {
  const changed = { verdict: 'changed' as const, accepted: false, another: false };
  const reasons = (version: string) => [`the firmware changed 1.2 → ${version} (PCR 0)`];
  const nodes = [
    node('n1', { attestation: { ...changed, reasons: reasons('1.3') } }),
    node('n2', { attestation: { ...changed, reasons: reasons('1.4') } }),
    node('n3', { attestation: { ...changed, reasons: reasons('1.3'), accepted: true } }),
    node('n4', { attestation: { ...changed, reasons: reasons('1.3') } }),
    node('n5', { attestation: { ...changed, verdict: 'unknown', reasons: ['iPXE does not measure what it loads'] } }),
    node('n6', { attestation: { verdict: 'trusted', reasons: [], accepted: false, another: true } }),
  ];
  const refused = flow('n4', { status: 'failed', code: 'boot_not_trusted', reason: 'the boot is not trusted' });
  const troubles = arrangeTroubles([refused, flow('n1')], fleetOf(...nodes));
  expect(troubles.map(({ status, rows }) => [status, rows.map((row) => row.node?.name)])).toEqual([
    ['distrusted', ['n1', 'n2']],
    ['failed', ['n4']],
    ['distrusted', ['n6']],
    ['retrying', ['n1']],
  ]);
  const text = renderAttention(picture([], nodes.slice(0, 2)), now)
    .map(textOf)
    .join(' ');
  expect(text).toContain('≠ not trusted 2 nodes in r7 n1 n2 attestation');
  expect(text).toContain('the newest boot is not trusted (changed): the firmware changed 1.2 → 1.3 (PCR 0)');
  expect(troubles.filter(({ status }) => status === 'distrusted').flatMap(buttonsFor)).toEqual([]);
});
