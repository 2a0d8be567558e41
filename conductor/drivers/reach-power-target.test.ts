import { expect, test } from 'vitest';
import { type PowerPrimitives, reachPowerTarget } from '#conductor/drivers/reach-power-target.ts';
import type { PowerState, PowerTarget } from '#conductor/model/power-and-boot.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A machine in its own time: power changes take effect `delayMs` after they were asked for. */
function machine(options: { start: PowerState; delayMs?: number; ignored?: number; refuse?: AppError }) {
  let now = 0;
  let state: PowerState = options.start;
  let pending: { state: PowerState; at: number } | undefined;
  let ignored = options.ignored ?? 0;
  const sent: string[] = [];
  const act = (name: string, to: PowerState) => async () => {
    sent.push(name);
    if (options.refuse) throw options.refuse;
    if (ignored > 0) ignored -= 1;
    else pending = { state: to, at: now + (options.delayMs ?? 0) };
  };
  const primitives: PowerPrimitives = {
    bmc: 'test',
    read: async () => {
      if (pending && now >= pending.at) {
        state = pending.state;
        pending = undefined;
      }
      return state;
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
  return { reach, sent, primitives };
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
