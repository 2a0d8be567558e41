import { expect, test } from 'vitest';
import { type ApiClient, waitForLock } from '#conductor/cli/shell/api-client.ts';
import { AppError } from '#shared/errors/app-error.ts';

const locked = new AppError(
  'node_locked',
  'Node n1 is locked by host c1, please retry after the current operation is completed.',
);

/** A conductor that refuses so many times, and a clock that goes on by what is slept. */
function asked(refusals: number, fault: Error = locked) {
  let [calls, ms] = [0, 0];
  const notices: string[] = [];
  const client: ApiClient = {
    call: () => {
      calls += 1;
      return calls > refusals ? Promise.resolve({ calls }) : Promise.reject(fault);
    },
    download: () => Promise.reject(fault),
  };
  const clock = {
    now: () => new Date(ms),
    sleep: (duration: number) => {
      ms += duration;
      return Promise.resolve();
    },
  };
  const call = () => waitForLock(client, { clock, notify: (line) => notices.push(line) }).call('PATCH', '/v1/nodes/n1');
  return { call, notices, calls: () => calls };
}

test('a node that a conductor is at is waited for, and told of once', async () => {
  const { call, notices } = asked(10);
  expect(await call()).toEqual({ calls: 11 });
  expect(notices).toEqual([`${locked.message} Trying again for 45 s`]);
});

test('not for ever', async () => {
  const { call, calls } = asked(1000);
  await expect(call()).rejects.toBe(locked);
  expect(calls()).toBe(24);
});

test('what does not pass by itself is not tried again', async () => {
  const { call, notices, calls } = asked(
    1,
    new AppError('conflict', 'plan_hash: the plan is no longer the one that was read'),
  );
  await expect(call()).rejects.toThrow('plan_hash');
  expect([calls(), notices]).toEqual([1, []]);
});
