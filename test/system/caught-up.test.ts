import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Memory } from '#conductor/kernel/db/answered.ts';
import { openDatabase } from '#conductor/kernel/db/open.ts';
import { withClient } from '#conductor/kernel/db/session/session.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type PostgresPair, startPostgresPair } from '#test/support/standby.ts';

/** A conductor that begins to listen catches up with a transaction of its own: it counts once the standby has it. */

let pair: PostgresPair;
let directory: string;
beforeAll(async () => {
  pair = await startPostgresPair();
  directory = await mkdtemp(join(tmpdir(), 'baton-caught-up-'));
});
afterAll(async () => {
  await pair.close();
  await rm(directory, { recursive: true });
});

test('a conductor that catches up waits for the synchronous standby before it remembers that', async () => {
  const open = (name: string) =>
    openDatabase({
      url: pair.url,
      dataDirectory: '',
      isAlone: false,
      conductorName: name,
      memoryFile: join(directory, name),
    });
  const remembered = async (name: string) => {
    const text = await readFile(join(directory, name), 'utf8').catch(() => undefined);
    return text === undefined ? [] : Memory.parse(JSON.parse(text)).marks;
  };
  await (await open('first')).close();
  await pair.synchronous(true);
  await pair.stopFollowing();

  const state = { isOpen: false };
  const opening = open('second').finally(() => {
    state.isOpen = true;
  });
  const look = () =>
    withClient(pair.url, async (client) => {
      const { rows } = await client.query("select from pg_stat_activity where wait_event = 'SyncRep'");
      if (rows.length > 0) return 'waits for the standby';
      return state.isOpen ? 'is open' : undefined;
    });
  expect(await waitUntil('the second to wait, or to be open', look, { everyMs: 50 })).toBe('waits for the standby');
  expect(await remembered('second')).toEqual([]);

  await pair.synchronous(false);
  await (await opening).close();
  expect(await remembered('second')).toHaveLength(1);
});
