import { expect, test } from 'vitest';
import type { ApiClient } from '#conductor/cli/shell/api-client.ts';
import { causesIn, notifyOfSilence } from '#conductor/cli/shell/notify-of-silence.ts';

/** A client that answers when it is let, and a clock whose sleeps end when the test says so. */
function silent(why: string | undefined) {
  const answer = Promise.withResolvers<Record<string, unknown>>();
  const slept = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const sleeps: number[] = [];
  const notices: string[] = [];
  const inner: ApiClient = { call: () => answer.promise, download: () => Promise.reject(new Error('not here')) };
  const client = notifyOfSilence(inner, {
    url: 'http://c:6385',
    clock: {
      now: () => new Date(0),
      sleep: (ms) => {
        sleeps.push(ms);
        return slept.promise;
      },
    },
    notify: (line) => notices.push(line),
    askWhy: async () => {
      asked.resolve();
      return why;
    },
  });
  return { client, answer, slept, asked, sleeps, notices };
}

test('a conductor that does not answer is named after two seconds, with what it says of itself', async () => {
  const { client, answer, slept, asked, sleeps, notices } = silent('database: it does not answer');
  const call = client.call('GET', '/v1/fleet');
  const second = client.call('GET', '/v1/flows');
  expect(sleeps).toEqual([2_000, 2_000]);
  slept.resolve();
  await asked.promise;
  await Promise.resolve();
  expect(notices).toEqual([
    'No answer from the conductor at http://c:6385 for 2 s; waiting',
    'The conductor says: database: it does not answer',
  ]);
  answer.resolve({ nodes: 1 });
  expect(await call).toEqual({ nodes: 1 });
  await second;
});

test('one that answers in time, or whose work takes as long as it takes, says nothing', async () => {
  const { client, answer, slept, sleeps, notices } = silent(undefined);
  const call = client.call('GET', '/v1/fleet');
  const work = client.call('POST', '/v1/drain', {}, { until: new AbortController().signal });
  answer.resolve({});
  await Promise.all([call, work]);
  expect(sleeps).toHaveLength(1);
  slept.resolve();
  await slept.promise;
  await Promise.resolve();
  expect(notices).toEqual([]);
});

test('causes are read where there are some', () => {
  expect(causesIn({ status: 'not ready', causes: { database: 'gone', dhcp: 'no port' } })).toBe(
    'database: gone; dhcp: no port',
  );
  expect(causesIn({ status: 'ok' })).toBeUndefined();
  expect(causesIn('<html>')).toBeUndefined();
});
