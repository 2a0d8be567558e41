import { expect, test } from 'vitest';
import { type PowerPrimitives, reachPowerTarget } from '#conductor/drivers/reach-power-target.ts';
import type { PowerState, PowerTarget } from '#conductor/model/power-and-boot.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A machine in its own time: power changes take effect `delayMs` after they were asked for. */
function machine(options: {
  start: PowerState | 'changing' | undefined;
  delayMs?: number;
  ignored?: number;
  refuse?: AppError;
  /** So often; default: each time. */
  refusals?: number;
  /** Whether the refused request is done nevertheless. */
  refusesAndActs?: boolean;
  /** Until then it shows no state. */
  silentMs?: number;
}) {
  let now = 0;
  let state = options.start;
  let pending: { state: PowerState; at: number } | undefined;
  let ignored = options.ignored ?? 0;
  const sent: string[] = [];
  const act = (name: string, to: PowerState) => async () => {
    sent.push(name);
    const isRefused = sent.length <= (options.refusals ?? Number.POSITIVE_INFINITY);
    if (options.refuse && isRefused && !options.refusesAndActs) throw options.refuse;
    if (ignored > 0) ignored -= 1;
    else pending = { state: to, at: now + (options.delayMs ?? 0) };
    if (options.refuse && isRefused) throw options.refuse;
  };
  const primitives: PowerPrimitives = {
    bmc: 'test',
    read: async () => {
      if (pending && now >= pending.at) {
        state = pending.state;
        pending = undefined;
      }
      return now < (options.silentMs ?? 0) ? undefined : state;
    },
    powerOn: act('on', 'power on'),
    powerOff: act('off', 'power off'),
    softPowerOff: act('soft', 'power off'),
  };
  const reach = (target: PowerTarget) =>
    reachPowerTarget(target, primitives, {
      clock: {
        now: () => new Date(now),
        sleep: async (ms) => {
          now += ms;
        },
      },
      signal: new AbortController().signal,
      timeoutMs: 100_000,
      pollMs: 1000,
      resendAfterMs: 30_000,
    });
  return { reach, sent, seconds: () => now / 1000 };
}

test('waits for a slow machine and asks once', async () => {
  const slow = machine({ start: 'power off', delayMs: 25_000 });
  await slow.reach('power on');
  expect(slow.sent).toEqual(['on']);
});

test('sends an action once more when nothing happens', async () => {
  const deaf = machine({ start: 'power off', ignored: 1 });
  await deaf.reach('power on');
  expect(deaf.sent).toEqual(['on', 'on']);
});

test('never repeats a soft request', async () => {
  const deaf = machine({ start: 'power on', ignored: 1 });
  await expect(deaf.reach('soft power off')).rejects.toMatchObject({ code: 'timeout' });
  expect(deaf.sent).toEqual(['soft']);
});

test('a reboot is off, then on', async () => {
  const both = machine({ start: 'power on' });
  await both.reach('rebooting');
  await both.reach('soft rebooting');
  expect(both.sent).toEqual(['off', 'on', 'soft', 'on']);
});

test('a refusal counts when the machine is not there', async () => {
  const refusing = machine({ start: 'power off', refuse: new AppError('bmc_error', 'no') });
  await expect(refusing.reach('power on')).rejects.toThrow('no');
});

test('a lost answer is not a failure yet, but the cause of one', async () => {
  const lost = machine({ start: 'power off', refuse: new AppError('unavailable', 'cut', { details: { sent: true } }) });
  await expect(lost.reach('power on')).rejects.toMatchObject({ code: 'timeout', cause: { message: 'cut' } });
});

test.each([
  ['409', new AppError('bmc_error', 'in progress', { details: { status: 409 } })],
  ['500', new AppError('bmc_error', 'internal error', { details: { status: 500 } })],
  ['502 of what stands before it', new AppError('unavailable', 'bad gateway', { details: { status: 502 } })],
  ["ipmitool's", new AppError('bmc_error', 'Set Chassis Power Control to Up/On failed')],
])('an action that failed and works seconds later is done: %s', async (_status, refuse) => {
  const working = machine({ start: 'power off', delayMs: 4000, refuse, refusesAndActs: true });
  await working.reach('power on');
  expect(working.sent).toEqual(['on']);
  const both = machine({ start: 'power on', delayMs: 4000, refuse, refusesAndActs: true });
  await both.reach('rebooting');
  expect(both.sent).toEqual(['off', 'on']);
});

test('what a web server failed without effect is asked for once more', async () => {
  const failing = machine({
    start: 'power off',
    refuse: new AppError('bmc_error', 'no', { details: { status: 500 } }),
    refusals: 1,
  });
  await failing.reach('power on');
  expect(failing.sent).toEqual(['on', 'on']);
});

test('what failed without effect is an error after seconds, not minutes', async () => {
  const refusing = machine({
    start: 'power off',
    refuse: new AppError('bmc_error', 'no', { details: { status: 500 } }),
  });
  await expect(refusing.reach('power on')).rejects.toThrow('no');
  expect(refusing.seconds()).toBeGreaterThan(5);
  // an operator is told before 15 s are over
  expect(refusing.seconds()).toBeLessThan(13);
});

test('a machine on its way is waited for, though the action is refused', async () => {
  const refuse = new AppError('bmc_error', 'in transition', { details: { status: 409 } });
  const slow = machine({ start: 'changing', delayMs: 50_000, refuse, refusesAndActs: true });
  await slow.reach('power on');
  expect(slow.sent).toEqual(['on']);
});

test('what was never sent is an error at once', async () => {
  const away = new AppError('unavailable', 'refused', { details: { sent: false } });
  const gone = machine({ start: 'power off', refuse: away });
  await expect(gone.reach('power on')).rejects.toThrow('refused');
  expect(gone.seconds()).toBe(0);
});

test('nothing is sent where no power state is shown', async () => {
  const dumb = machine({ start: undefined });
  await expect(dumb.reach('power off')).rejects.toMatchObject({
    code: 'bmc_error',
    message: expect.stringContaining('shows no power state') as string,
  });
  expect(dumb.sent).toEqual([]);
  expect(dumb.seconds()).toBeLessThan(20);
});

test('a state that is shown in a moment is waited for', async () => {
  const starting = machine({ start: 'power off', silentMs: 5000 });
  await starting.reach('power on');
  expect(starting.sent).toEqual(['on']);
  const there = machine({ start: 'power on', silentMs: 5000 });
  await there.reach('power on');
  expect(there.sent).toEqual([]);
});
