import { beforeEach, expect, test } from 'vitest';
import { watchFlow } from '#conductor/cli/nodes/provision.ts';
import type { ApiClient } from '#conductor/cli/shell/api-client.ts';
import { flowView, stepView } from '#conductor/cli/testing/flow-views.ts';
import { createNodeTerminal, type NodeTerminal } from '#conductor/cli/testing/node-terminal.ts';
import { AppError } from '#shared/errors/app-error.ts';

let terminal: NodeTerminal;
beforeEach(() => {
  terminal = createNodeTerminal();
});

test('watching without a terminal prints what has changed, once', async () => {
  terminal.nodeStates = [
    { provision_state: 'verifying', target_provision_state: 'manageable' },
    { provision_state: 'verifying', target_provision_state: 'manageable' },
    { provision_state: 'manageable', target_provision_state: null },
  ];
  terminal.flow = {
    uuid: 'f',
    kind: 'verify',
    state: 'running',
    started_at: '2026-01-01T00:00:00Z',
    ended_at: null,
    held: null,
    boot: [],
    steps: [],
  };
  terminal.onSleep = () => {
    if (terminal.nodeStates.length === 1)
      terminal.flow = { ...terminal.flow, state: 'succeeded', ended_at: '2026-01-01T00:00:02Z' };
  };
  await terminal.run('node', 'watch', 'n1');
  expect(terminal.output).toBe('verify started\nverify succeeded after 2.0 s\nnode n1 is manageable\n');
});

test('watching a node that ends in a failed state fails with its last error', async () => {
  terminal.nodeStates = [{ provision_state: 'deploy failed', target_provision_state: null, last_error: 'no disk' }];
  await expect(terminal.run('node', 'watch', 'n1')).rejects.toThrow("node n1 is in 'deploy failed': no disk");
  await expect(terminal.run('node', 'watch', 'nope')).rejects.toThrow('Node nope could not be found.');
});

test('a failure is told with what to do next, also where the node is in no failed state', async () => {
  terminal.nodeStates = [{ provision_state: 'enroll', target_provision_state: null, last_error: 'no BMC' }];
  const ended = { state: 'failed', ended_at: '2026-01-01T00:00:02Z' };
  const failed = { ...flowView([], { started_at: '2026-01-01T00:00:00Z', kind: 'verify' }), ...ended };
  terminal.flow = { ...failed, advice: '`baton manage n1` checks again.' };
  await expect(terminal.run('manage', 'n1', '--wait')).rejects.toThrow(
    "node n1 is in 'enroll': no BMC\n→ `baton manage n1` checks again.",
  );
  // somebody has seen to it since
  terminal.flow = failed;
  await terminal.run('watch', 'n1');
  expect(terminal.output).toContain('node n1 is enroll\n');
});

test('a verb without a flow does not show the one before', async () => {
  terminal.nodeStates = [{ provision_state: 'manageable', target_provision_state: null }];
  const ended = { state: 'failed', ended_at: '2026-01-01T00:00:02Z' };
  terminal.flow = { ...flowView([], { started_at: '2026-01-01T00:00:00Z', kind: 'clean' }), ...ended };
  await terminal.run('manage', 'n1', '--wait');
  expect(terminal.output).toBe('node n1 is manageable\n');
});

test('watching rides out a conductor that is restarted, and gives up on time', async () => {
  let failures = 3;
  const away: ApiClient = {
    ...terminal.client,
    call: (...args) => {
      failures -= 1;
      return failures >= 0 ? Promise.reject(new AppError('unavailable', 'reach it')) : terminal.client.call(...args);
    },
  };
  let now = 0;
  const clock = { now: () => new Date(now), sleep: (ms: number) => Promise.resolve(void (now += ms)) };
  const screen = { write: () => undefined, isTerminal: false, size: () => ({ columns: 80, rows: 24 }) };
  const watched = await watchFlow(away, 'n1', { screen, clock });
  expect(watched.node).toMatchObject({ provision_state: 'active' });
  failures = Number.POSITIVE_INFINITY;
  await expect(watchFlow(away, 'n1', { screen, clock })).rejects.toThrow('reach it');
  expect(now).toBeGreaterThan(60_000);
  failures = 0;
  terminal.nodeStates = [{ provision_state: 'deploying', target_provision_state: 'active' }];
  await expect(watchFlow(terminal.client, 'n1', { screen, clock, timeoutMs: 5000 })).rejects.toThrow('it goes on');
});

test('a terminal is painted over, within its size', async () => {
  terminal.flow = flowView(
    Array.from({ length: 40 }, (_, index) =>
      stepView({ step: `step_${index}`, state: index < 20 ? 'succeeded' : 'pending' }),
    ),
    { started_at: new Date().toISOString(), ended_at: null },
  ) as unknown as Record<string, unknown>;
  terminal.nodeStates = [
    { provision_state: 'deploying', target_provision_state: 'active' },
    { provision_state: 'active', target_provision_state: null },
  ];
  terminal.onSleep = () => (terminal.flow = { ...terminal.flow, ended_at: new Date().toISOString() });
  const writes: string[] = [];
  const screen = {
    write: (text: string | Uint8Array) => void writes.push(String(text)),
    isTerminal: true,
    size: () => ({ columns: 30, rows: 10 }),
  };
  const clock = { now: () => new Date(), sleep: () => Promise.resolve(terminal.onSleep()) };
  await watchFlow(terminal.client, 'n1', { screen, clock });
  expect(writes).toHaveLength(2);
  expect(writes[0]?.split('\n')).toHaveLength(10);
  expect(writes[1]).toContain('\u001b[9A\u001b[J');
});
