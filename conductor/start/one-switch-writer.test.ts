import { expect, test } from 'vitest';
import type { SessionLock } from '#conductor/kernel/db/session/session-locks.ts';
import { oneSwitchWriter } from '#conductor/start/open-context.ts';

/** Locks of a database, as two conductors see them. */
function startDatabase() {
  const held = new Set<string>();
  const lock = (name: string): SessionLock => {
    const state = { isMine: false };
    return {
      take: async () => {
        if (state.isMine || held.has(name)) return state.isMine;
        held.add(name);
        state.isMine = true;
        return true;
      },
      release: async () => {
        if (state.isMine) held.delete(name);
      },
    };
  };
  return { held, conductor: () => oneSwitchWriter({ exclusive: false, lock }) };
}

const { signal } = new AbortController();

test('one conductor at a time changes a switch, and another switch meanwhile', async () => {
  const { held, conductor } = startDatabase();
  const [one, two] = [conductor(), conductor()];
  const said: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = one('LEAF1', signal, async () => {
    said.push('one begins');
    await gate.promise;
    said.push('one ends');
  });
  const second = two('leaf1', signal, async () => void said.push('two'));
  await two('leaf2', signal, async () => void said.push('elsewhere'));
  gate.resolve();
  await Promise.all([first, second]);
  expect(said).toEqual(['one begins', 'elsewhere', 'one ends', 'two']);
  expect(held.size).toBe(0);
});

test('who gives up waits no longer; who fails leaves no lock', async () => {
  const { held, conductor } = startDatabase();
  const [one, two] = [conductor(), conductor()];
  const gate = Promise.withResolvers<void>();
  const first = one('leaf1', signal, () => gate.promise);
  const givesUp = AbortSignal.timeout(20);
  await expect(two('leaf1', givesUp, async () => undefined)).rejects.toMatchObject({ name: 'TimeoutError' });
  gate.reject(new Error('the switch is gone'));
  await expect(first).rejects.toThrow('the switch is gone');
  expect(held.size).toBe(0);
});

test('work whose lock is lost with the connection hears of it', async () => {
  let lose = (): void => undefined;
  const lock = (_name: string, onLost?: () => void): SessionLock => {
    lose = onLost ?? lose;
    return { take: () => Promise.resolve(true), release: () => Promise.resolve() };
  };
  const writer = oneSwitchWriter({ exclusive: false, lock });
  const work = writer('leaf1', signal, (held) => {
    lose();
    held.throwIfAborted();
    return Promise.resolve();
  });
  await expect(work).rejects.toMatchObject({ code: 'unavailable', retryable: true });
  expect(signal.aborted).toBe(false);
});

test('a database that gives no connection is asked again later, and the lock is let go of', async () => {
  let isReleased = false;
  const lock: SessionLock = {
    take: () => Promise.reject(new Error('sorry, too many clients already')),
    release: async () => {
      isReleased = true;
    },
  };
  const writer = oneSwitchWriter({ exclusive: false, lock: () => lock });
  await expect(writer('leaf1', signal, async () => undefined)).rejects.toMatchObject({
    code: 'unavailable',
    retryable: true,
  });
  expect(isReleased).toBe(true);
});
