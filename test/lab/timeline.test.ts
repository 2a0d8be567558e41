import { expect, test } from 'vitest';
import type { Flow, FlowStep } from '#test/lab/operator.ts';
import { describeChanges, describeProgress, formatSeconds, renderFlow } from '#test/lab/timeline.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const now = new Date(at(40));

function step(overrides: Partial<FlowStep>): FlowStep {
  return {
    uuid: overrides.step ?? 'deploy',
    position: 0,
    interface: 'deploy',
    step: 'deploy',
    priority: 100,
    origin: 'conductor',
    state: 'pending',
    started_at: null,
    ended_at: null,
    waiting_for: null,
    wait_until: null,
    progress: null,
    error: null,
    ...overrides,
  };
}

function flow(steps: FlowStep[], overrides: Partial<Flow> = {}): Flow {
  return {
    uuid: 'f',
    kind: 'deploy',
    state: 'running',
    started_at: at(0),
    ended_at: null,
    error: null,
    steps,
    ...overrides,
  };
}

const waiting = step({
  state: 'waiting',
  started_at: at(1),
  waiting_for: "the agent's heartbeat",
  wait_until: at(100),
});
const writing = step({
  step: 'write_image',
  priority: 80,
  state: 'waiting',
  started_at: at(30),
  waiting_for: 'the agent',
  progress: { phase: 'writing image', done_bytes: 64e6, total_bytes: 118.2e6, rate: 21.3e6 },
});

test('a flow as it is now', () => {
  expect(renderFlow('node0', flow([waiting, writing, step({ step: 'boot_instance', priority: 20 })]), now)).toEqual([
    'node0  deploy running  40.0 s',
    "  …  39.0 s  100 deploy.deploy                     waits for the agent's heartbeat (at most 1 min 00 s more)",
    '  …  10.0 s   80 deploy.write_image                writing image 64.0 of 118.2 MB (54 %) at 21.3 MB/s',
    '  ·           20 deploy.boot_instance',
  ]);
});

test('what has changed since the last look', () => {
  const first = flow([waiting]);
  expect(describeChanges('node0', undefined, first, now)).toEqual([
    'node0: deploy started',
    "node0: deploy.deploy (100) waits for the agent's heartbeat",
  ]);
  expect(describeChanges('node0', first, first, now)).toEqual([]);
  const done = { ...waiting, state: 'succeeded', ended_at: at(30) } as const;
  expect(describeChanges('node0', first, flow([done, writing]), now)).toEqual([
    'node0: deploy.deploy (100) succeeded after 29.0 s',
    'node0: deploy.write_image (80) waits for the agent',
    'node0: deploy.write_image (80) writing image 64.0 of 118.2 MB (54 %) at 21.3 MB/s',
  ]);
  const failed = { ...writing, state: 'failed', ended_at: at(35), error: 'wrong checksum' } as const;
  const ended = flow([done, failed], { state: 'failed', ended_at: at(36), error: 'write_image: wrong checksum' });
  expect(describeChanges('node0', flow([done, writing]), ended, now)).toEqual([
    'node0: deploy.write_image (80) failed after 5.0 s: wrong checksum',
    'node0: deploy failed after 36.0 s: write_image: wrong checksum',
  ]);
});

test('numbers for people', () => {
  expect(formatSeconds(7.34)).toBe('7.3 s');
  expect(formatSeconds(125)).toBe('2 min 05 s');
  expect(describeProgress({ phase: 'checking', done_bytes: null })).toBe('checking');
  expect(describeProgress({ done_bytes: 5e6 })).toBe('5.0 MB');
});
