import { beforeEach, expect, test } from 'vitest';
import type { ApiClient } from '#conductor/cli/api-client.ts';
import { flowView, stepView } from '#conductor/cli/testing/flow-views.ts';
import { createNodeSeat, type NodeSeat } from '#conductor/cli/testing/node-seat.ts';
import { watchFlow } from '#conductor/cli/watch-flow.ts';
import { AppError } from '#shared/errors/app-error.ts';

let seat: NodeSeat;
beforeEach(() => {
  seat = createNodeSeat();
});

test('watching without a terminal prints what has changed, once', async () => {
  seat.nodeStates = [
    { provision_state: 'verifying', target_provision_state: 'manageable' },
    { provision_state: 'verifying', target_provision_state: 'manageable' },
    { provision_state: 'manageable', target_provision_state: null },
  ];
  seat.flow = {
    uuid: 'f',
    kind: 'verify',
    state: 'running',
    started_at: '2026-01-01T00:00:00Z',
    ended_at: null,
    held: null,
    steps: [],
  };
  seat.onSleep = () => {
    if (seat.nodeStates.length === 1)
      seat.flow = { ...seat.flow, state: 'succeeded', ended_at: '2026-01-01T00:00:02Z' };
  };
  await seat.run('node', 'watch', 'n1');
  expect(seat.output).toBe('verify started\nverify succeeded after 2.0 s\nnode n1 is manageable\n');
});

test('watching a node that ends in a failed state fails with its last error', async () => {
  seat.nodeStates = [{ provision_state: 'deploy failed', target_provision_state: null, last_error: 'no disk' }];
  await expect(seat.run('node', 'watch', 'n1')).rejects.toThrow("node n1 is in 'deploy failed': no disk");
  await expect(seat.run('node', 'watch', 'nope')).rejects.toThrow('Node nope could not be found.');
});

test('a failure is told with what to do next, also where the node is in no failed state', async () => {
  seat.nodeStates = [{ provision_state: 'enroll', target_provision_state: null, last_error: 'no BMC' }];
  const ended = { state: 'failed', ended_at: '2026-01-01T00:00:02Z' };
  const failed = { ...flowView([], { started_at: '2026-01-01T00:00:00Z', kind: 'verify' }), ...ended };
  seat.flow = { ...failed, advice: '`baton manage n1` checks again.' };
  await expect(seat.run('manage', 'n1', '--wait')).rejects.toThrow(
    "node n1 is in 'enroll': no BMC\n→ `baton manage n1` checks again.",
  );
  // somebody has seen to it since
  seat.flow = failed;
  await seat.run('watch', 'n1');
  expect(seat.output).toContain('node n1 is enroll\n');
});

test('watching rides out a conductor that is restarted, and gives up on time', async () => {
  let failures = 3;
  const away: ApiClient = {
    ...seat.client,
    call: (...args) => {
      failures -= 1;
      return failures >= 0 ? Promise.reject(new AppError('unavailable', 'reach it')) : seat.client.call(...args);
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
  seat.nodeStates = [{ provision_state: 'deploying', target_provision_state: 'active' }];
  await expect(watchFlow(seat.client, 'n1', { screen, clock, timeoutMs: 5000 })).rejects.toThrow('it goes on');
});

test('a terminal is painted over, within its size', async () => {
  seat.flow = flowView(
    Array.from({ length: 40 }, (_, index) =>
      stepView({ step: `step_${index}`, state: index < 20 ? 'succeeded' : 'pending' }),
    ),
    { started_at: new Date().toISOString(), ended_at: null },
  ) as unknown as Record<string, unknown>;
  seat.nodeStates = [
    { provision_state: 'deploying', target_provision_state: 'active' },
    { provision_state: 'active', target_provision_state: null },
  ];
  seat.onSleep = () => (seat.flow = { ...seat.flow, ended_at: new Date().toISOString() });
  const writes: string[] = [];
  const screen = {
    write: (text: string | Uint8Array) => void writes.push(String(text)),
    isTerminal: true,
    size: () => ({ columns: 30, rows: 10 }),
  };
  const clock = { now: () => new Date(), sleep: () => Promise.resolve(seat.onSleep()) };
  await watchFlow(seat.client, 'n1', { screen, clock });
  expect(writes).toHaveLength(2);
  expect(writes[0]?.split('\n')).toHaveLength(10);
  expect(writes[1]).toContain('\u001b[9A\u001b[J');
});
