import { expect, test } from 'vitest';
import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { renderFleet } from '#conductor/cli/status-command.ts';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';

const now = new Date('2026-11-22T12:00:00Z');

function flowOf(name: string, status: FlowSummaryView['status'], more: Partial<FlowSummaryView> = {}): FlowSummaryView {
  return {
    uuid: '5a0c7ac4-4b6e-4b5c-9c5e-4d6b7a1f0001',
    kind: 'deploy',
    code: null,
    subject: null,
    state: 'running',
    status,
    node_uuid: '5a0c7ac4-4b6e-4b5c-9c5e-4d6b7a1f0002',
    node_name: name,
    provision_state: 'deploying',
    conductor: 'here',
    requested_by: null,
    request_id: null,
    global_request_id: null,
    started_at: '2026-11-22T11:00:00.000Z',
    ended_at: null,
    step: 'deploy.write_image',
    step_uuid: 's1',
    may_skip: false,
    since: '2026-11-22T11:58:00.000Z',
    until: null,
    reason: null,
    attempt: 1,
    next_attempt_at: null,
    progress: null,
    ...more,
  };
}
const fleet = { nodes: 5, in_maintenance: 1, provision_states: { active: 3, deploying: 1, 'deploy failed': 1 } };

test('what needs somebody stands first, with its whole reason; the rest is counted', () => {
  const advice = new Map([['bad', 'Look at the image. Then `baton rebuild n10` tries again.']]);
  const flows = [
    flowOf('n1', 'working'),
    flowOf('n2', 'retrying', {
      step: 'power.power_on',
      attempt: 4,
      reason: 'the BMC at 10.0.0.7 did not answer within 30 s; its web server accepts connections and says nothing',
      next_attempt_at: '2026-11-22T12:00:08.000Z',
      until: '2026-11-22T12:26:00.000Z',
    }),
    flowOf('n10', 'failed', { uuid: 'bad', since: '2026-11-22T11:47:55.000Z', reason: 'no room\u001b[2J' }),
    flowOf('n3', 'waiting'),
  ];
  expect(renderFleet({ fleet, flows, all: false, advice }, now, 72)).toEqual([
    '5 nodes: 3 active, 1 deploying, 1 deploy failed; 1 in maintenance',
    '',
    'failed    n10  deploy.write_image, 12 m 05 s ago',
    '          no room\uFFFD[2J',
    '          → Look at the image. Then `baton rebuild n10` tries again.',
    'retrying  n2   power.power_on, 2 m 00 s, attempt 4, again in 8.0 s,',
    '          gives up in 26 m 00 s',
    '          the BMC at 10.0.0.7 did not answer within 30 s; its web server',
    '          accepts connections and says nothing',
    '',
    '1 waiting, 1 working, as planned: baton status --all lists them',
  ]);
  expect(renderFleet({ fleet, flows, all: true, advice }, now, 72)).toContain(
    'working   n1   deploy.write_image, 2 m 00 s',
  );
});

test('asks for all pages; a document has everything', async () => {
  const pages: Record<string, object> = {
    'GET /v1/fleet': fleet,
    'GET /v1/flows?limit=1000': { flows: [flowOf('n1', 'working')], next: 'http://x/v1/flows?marker=…' },
    'GET /v1/flows?limit=1000&marker=5a0c7ac4-4b6e-4b5c-9c5e-4d6b7a1f0001': { flows: [flowOf('n2', 'failed')] },
  };
  const terminal = createRecordingTerminal((request) => pages[request] as Record<string, unknown>);
  expect(JSON.parse(await terminal.run('status', '-o', 'json'))).toMatchObject({
    fleet,
    flows: [{ node_name: 'n1' }, { node_name: 'n2' }],
  });
  expect(
    await createRecordingTerminal((request) =>
      request === 'GET /v1/fleet' ? { ...fleet, nodes: 0, in_maintenance: 0, provision_states: {} } : { flows: [] },
    ).run('status'),
  ).toBe('0 nodes\nnothing is under way\n');
});

test('--watch needs a terminal', async () => {
  await expect(createRecordingTerminal(() => fleet).run('status', '--watch')).rejects.toThrow('baton status -o json');
});

test('nodes that rest since a restore are named, with what to say of them', () => {
  const names = Array.from({ length: 14 }, (_, index) => `n${index}`);
  const text = renderFleet({ fleet, flows: [], all: false, advice: new Map(), restored: names }, now, 72).join('\n');
  expect(text).toMatch(/^restored {2}n0, n1, .* n11 and 2 more:\n +restored from a dump/m);
  expect(text.replaceAll(/\s+/g, ' ')).toContain(
    '→ Compare each with its machine: `baton adopt NODE` where an instance runs, `baton manage NODE` where none does.',
  );
});
