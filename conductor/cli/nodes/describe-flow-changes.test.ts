import { expect, test } from 'vitest';
import type { FlowStepView, FlowView } from '#conductor/api/flows.ts';
import { describeFlowChanges } from '#conductor/cli/nodes/render-flow.ts';
import { flowView, stepView } from '#conductor/cli/testing/flow-views.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const now = new Date(at(40));

const step = stepView;
const flow = (steps: readonly FlowStepView[], more: Partial<FlowView> = {}): FlowView =>
  flowView(steps, { started_at: at(0), ...more });

const waiting = step({
  state: 'waiting',
  started_at: at(1),
  waiting_for: "the agent's heartbeat",
  wait_until: at(100),
});
const progress = { phase: 'writing image', done_bytes: 64e6, total_bytes: 118.2e6, rate: 21.3e6 };
const writing = step({
  step: 'write_image',
  priority: 80,
  state: 'waiting',
  started_at: at(30),
  waiting_for: 'the agent',
  progress,
});
const done = { ...waiting, state: 'succeeded', ended_at: at(30) };

test('each change is a line, and what has not changed is none', () => {
  const first = flow([waiting]);
  expect(describeFlowChanges(undefined, first, now)).toEqual([
    'deploy started',
    "deploy.deploy (100) waits for the agent's heartbeat",
  ]);
  expect(describeFlowChanges(first, first, new Date(at(41)))).toEqual([]);
  expect(describeFlowChanges(first, flow([done, writing]), now)).toEqual([
    'deploy.deploy (100) succeeded after 29.0 s',
    'deploy.write_image (80) waits for the agent',
    'deploy.write_image (80) writing image 64.0 MB of 118 MB (54 %), 21.3 MB/s',
  ]);
});

test('what is seen of a boot is a line each', () => {
  const seen = (detail: string) => ({ event: 'dhcp' as const, detail, bytes: null, at: at(2), conductor: 'c' });
  const [before, after] = [
    flow([], { boot: [seen('10.1.0.1')] }),
    flow([], { boot: [seen('10.1.0.1'), seen('10.1.0.2')] }),
  ];
  expect(describeFlowChanges(before, after, now)).toEqual(['boot: DHCP 10.1.0.2']);
});

test('progress is a line for each tenth and each phase', () => {
  const before = flow([done, writing]);
  const further = (more: object) => flow([done, { ...writing, progress: { ...progress, ...more } }]);
  expect(describeFlowChanges(before, further({ done_bytes: 70e6 }), now)).toEqual([]);
  expect(describeFlowChanges(before, further({ done_bytes: 71e6 }), now)).toHaveLength(1);
  expect(describeFlowChanges(before, further({ phase: 'checking' }), now)).toHaveLength(1);
});

test('a failure says why, for the step and for the flow', () => {
  const failed = { ...writing, state: 'failed', ended_at: at(35), error: 'wrong checksum' };
  const ended = flow([done, failed], { state: 'failed', ended_at: at(36), error: 'write_image: wrong checksum' });
  expect(describeFlowChanges(flow([done, writing]), ended, now)).toEqual([
    'deploy.write_image (80) failed after 5.0 s: wrong checksum',
    'deploy failed after 36.0 s: write_image: wrong checksum',
  ]);
});

test('a flow that nobody works on says so once, and that it goes on', () => {
  const held = flow([done], { held: 'the node is in maintenance' });
  expect(describeFlowChanges(flow([done]), held, now)).toEqual(['deploy is held: the node is in maintenance']);
  expect(describeFlowChanges(held, held, now)).toEqual([]);
  expect(describeFlowChanges(held, flow([done]), now)).toEqual(['deploy goes on']);
});

test('a hold, a request to stop, a restart and advice are reported once', () => {
  const hold = flow([done], { on_hold: "the operator's word", advice: 'do it', restarts: 1 });
  expect(describeFlowChanges(flow([done]), hold, now)).toEqual([
    "deploy is on hold for the operator's word",
    'deploy is restarted 1 time',
    '→ do it',
  ]);
  expect(describeFlowChanges(hold, hold, now)).toEqual([]);
  expect(describeFlowChanges(hold, flow([done], { restarts: 1 }), now)).toEqual(['deploy goes on']);
  const ended = flow([done], { state: 'failed', ended_at: at(40), advice: 'try again' });
  expect(describeFlowChanges(flow([done]), ended, now)).toEqual(['deploy failed after 40.0 s']);
});
