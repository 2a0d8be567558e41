import { expect, test } from 'vitest';
import type { FlowStepView, FlowView } from '#conductor/api/flows.ts';
import { renderFlow } from '#conductor/cli/nodes/render-flow.ts';
import { formatBytes, formatDuration } from '#conductor/cli/shell/format-units.ts';
import { flowView, stepView } from '#conductor/cli/testing/flow-views.ts';

const at = (seconds: number) => new Date(1_700_000_000_000 + seconds * 1000).toISOString();

const step = (name: string, state: string, more: Partial<FlowStepView> = {}): FlowStepView =>
  stepView({ step: name, state, priority: 80, started_at: at(0), ...more });
const flow = (steps: readonly FlowStepView[], more: Partial<FlowView> = {}): FlowView =>
  flowView(steps, { started_at: at(0), ...more });

const seen = (event: FlowView['boot'][number]['event'], detail: string | null, bytes: number | null = null) => ({
  event,
  detail,
  bytes,
  at: at(1),
  conductor: 'c',
});

test('says what was seen of the boot under way', () => {
  const boot = [
    seen('dhcp', '10.1.0.50'),
    seen('script', 'ramdisk'),
    seen('kernel', null, 8_200_000),
    seen('initrd', null, 68_700_000),
    seen('lookup', null),
    seen('heartbeat', null),
    seen('dhcp', '10.1.0.51'),
    seen('dhcp', '10.1.0.52'),
    seen('script', 'local disk'),
  ];
  const now = new Date(at(2));
  const bootLine = (given: readonly FlowView['boot'][number][], more: Partial<FlowView> = {}) =>
    renderFlow(flow([], { boot: [...given], ...more }), now).find((line) => line.includes('boot:'));
  expect(bootLine(boot.slice(0, 4))).toBe('  boot: DHCP 10.1.0.50, script ramdisk, kernel 8.2 MB, initrd 68.7 MB');
  expect(bootLine(boot)).toBe('  boot: DHCP 10.1.0.51, DHCP 10.1.0.52, script local disk');
  expect(bootLine(boot, { ended_at: at(2) })).toBeUndefined();
});

test('says of each step how long, how far and why', () => {
  const lines = renderFlow(
    flow([
      step('deploy', 'succeeded', { priority: 100, ended_at: at(12.34) }),
      step('write_image', 'running', {
        in_band: true,
        progress: { phase: 'writing image', done_bytes: 50_000_000, total_bytes: 200_000_000, rate: 12_500_000 },
      }),
      step('tune', 'pending', { priority: 70, started_at: null, origin: 'template', reason: 'template X asks for it' }),
      step('boot_instance', 'pending', { priority: 20, started_at: null, reason: 'as in every deploy' }),
    ]),
    new Date(at(20)),
  );
  expect(lines).toEqual([
    '✓ 100 deploy.deploy                12.3 s',
    '▶  80 deploy.write_image   agent   20.0 s  █████░░░░░░░░░░░░░░░ writing image 50.0 MB of 200 MB (25 %), 12.5 MB/s',
    '·  70 deploy.tune                          template X asks for it',
    '·  20 deploy.boot_instance',
    'deploy: running, 20.0 s',
  ]);
});

test('says where the bytes of an image in chunks came from, while it is written and afterwards', () => {
  const progress = {
    phase: 'writing image',
    kept_bytes: 30_000_000,
    copied_bytes: 5_000_000,
    fetched_bytes: 2000,
    neighbour_bytes: 9000,
  };
  const running = step('write_image', 'running', { progress });
  const done = step('write_image', 'succeeded', {
    ended_at: at(20),
    image_bytes: { kept: 40_000_000, copied: 0, fetched: 3000, neighbours: 0 },
  });
  const [first, second] = renderFlow(flow([running, done]), new Date(at(20)));
  expect(first).toContain('writing image; 30.0 MB kept, 5.0 MB copied, 2.0 kB fetched, 9.0 kB from neighbours');
  expect(second).toContain('40.0 MB kept, 0 B copied, 3.0 kB fetched');
});

test('names what is waited for, and the whole cause of a failure', () => {
  const waiting = step('deploy', 'waiting', { waiting_for: 'the first heartbeat', progress: {} });
  const failed = step('power_off', 'failed', {
    phase: 'cleanup',
    interface: 'power',
    priority: 0,
    ended_at: at(1),
    error: 'no BMC',
  });
  const lines = renderFlow(
    flow([waiting, failed], { state: 'failed', ended_at: at(75), error: 'step failed' }),
    new Date(at(99)),
  );
  expect(lines[0]).toMatch(/^… .*waiting for the first heartbeat$/);
  expect(lines[1]).toContain('power.power_off (clean-up)');
  expect(lines[2]).toBe('      no BMC');
  expect(lines[3]).toBe('deploy: failed, 1 m 15 s — step failed');
});

test('says when a wait ends, and why nobody works on a flow', () => {
  const waiting = step('deploy', 'waiting', { waiting_for: 'the first heartbeat', wait_until: at(100) });
  const lines = renderFlow(flow([waiting], { held: 'the node is in maintenance' }), new Date(at(40)));
  expect(lines).toEqual([
    '…  80 deploy.deploy         40.0 s  waiting for the first heartbeat (at most 1 m 00 s more)',
    'deploy: running, 40.0 s, held: the node is in maintenance',
  ]);
});

test('a flow without steps is one line', () => {
  expect(renderFlow(flow([], { ended_at: at(0), state: 'succeeded' }), new Date())).toEqual([
    'deploy: succeeded, 0.0 s',
  ]);
});

test('formats durations and bytes', () => {
  expect([400, 61_000, 3_720_000].map(formatDuration)).toEqual(['0.4 s', '1 m 01 s', '1 h 02 m']);
  expect([999, 1500, 123_456_789, 5e12].map(formatBytes)).toEqual(['999 B', '1.5 kB', '123 MB', '5.0 TB']);
});

test('says what to do while it rests or waits, in short lines; after the end that stands with the failure', () => {
  const advice = `${'look at the console '.repeat(5)}of it`;
  const lines = renderFlow(
    flow([], { advice, on_hold: 'your word', restarts: 2, abort_requested: 'stopped' }),
    new Date(at(1)),
  );
  expect(lines).toEqual([
    '→ look at the console look at the console look at the console look at the',
    '  console look at the console of it',
    'deploy: running, 1.0 s, on hold for your word, stopped, restarted 2 times',
  ]);
  expect(renderFlow(flow([], { advice, restarts: 2, state: 'failed', ended_at: at(1) }), new Date(at(1)))).toEqual([
    'deploy: failed, 1.0 s',
  ]);
});

test('names the request that it comes of, and what its client calls that', () => {
  const last = (more: Partial<FlowView>) => renderFlow(flow([], more), new Date(at(1))).slice(0, -1);
  expect(last({ request_id: 'req-1' })).toEqual(['  request: req-1']);
  expect(last({ request_id: 'req-1', global_request_id: 'req-2' })).toEqual(['  request: req-1 of req-2']);
});
