import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPluginFiles, deletePlugin } from '#conductor/sites/plugins/plugin-store.ts';
import { contentHash, uploadPlugin } from '#conductor/sites/plugins/upload-plugin.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

let database: Awaited<ReturnType<typeof openTestDatabase>>;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const tasks = "[{role: '*', stage: pre_deployment, type: reboot, parameters: {timeout: 1}}]";
const quiet = new AbortController().signal;
const upload = async (name: string, text = 'true') => {
  const files = { run: { content: Buffer.from(text).toString('base64'), executable: true } };
  const { row } = await uploadPlugin(database.db, { name, version: '1', tasks, files }, undefined);
  return { plugin: name, version: '1', content: row.contentHash };
};

test('files are read once for many, and what is kept is bounded', async () => {
  const which = await Promise.all(['a', 'b', 'c'].map((name) => upload(name)));
  const [a, b, c] = which;
  if (!a || !b || !c) throw new Error('three were uploaded');
  const files = createPluginFiles(database.db, { sending: 2, kept: 2 });
  const read = (each: typeof a) => files.take(quiet, (ask) => ask(each));
  const first = await read(a);
  expect(first).toEqual({ run: { content: 'dHJ1ZQ==', executable: true } });
  expect(await read(a)).toBe(first);
  await read(b);
  expect(await read(a)).toBe(first);
  await read(c);
  const second = await read(b);
  expect(await read(b)).toBe(second);
  // it had to go when b came again
  expect(await read(a)).not.toBe(first);
});

test('no more send at once than may; who gives up is passed over, and who fails makes room', async () => {
  const files = createPluginFiles(database.db, { sending: 2, kept: 2 });
  const seen = { now: 0, most: 0 };
  const gates = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
  const hasty = new AbortController();
  const sent = gates.map(({ promise }, index) =>
    files.take(index === 3 ? hasty.signal : quiet, async () => {
      seen.now += 1;
      seen.most = Math.max(seen.most, seen.now);
      await promise.finally(() => {
        seen.now -= 1;
      });
      return index;
    }),
  );
  const ended = Promise.allSettled(sent);
  hasty.abort(new Error('the lease is lost'));
  gates[0]?.reject(new Error('no agent'));
  for (const { resolve } of gates.slice(1)) resolve();
  expect((await ended).map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason)))).toEqual([
    'Error: no agent',
    1,
    2,
    'Error: the lease is lost',
    4,
    5,
  ]);
  expect(seen).toEqual({ now: 0, most: 2 });
  await expect(files.take(hasty.signal, () => Promise.resolve())).rejects.toThrow('the lease is lost');
});

test('a version uploaded again with another content is not what was planned', async () => {
  const planned = await upload('d', 'old');
  await database.db.transaction((tx) => deletePlugin(tx, { name: 'd', version: '1' }));
  const now = await upload('d', 'new');
  const files = createPluginFiles(database.db);
  await expect(files.take(quiet, (read) => read(planned))).rejects.toThrow(
    'plugin d 1 has another content than when this deploy was planned',
  );
  expect(Object.keys(await files.take(quiet, (read) => read(now)))).toEqual(['run']);
  // a plan of before contents were kept
  expect(await files.take(quiet, (read) => read({ plugin: 'd', version: '1' }))).toHaveProperty('run');
});

test('the order of files is nobody’s; their modes and the tasks count', () => {
  const file = (executable: boolean) => ({ content: 'AAAA', executable });
  const hash = contentHash({ tasksText: '', files: { a: file(true), b: file(false) } });
  expect(contentHash({ tasksText: '', files: { b: file(false), a: file(true) } })).toBe(hash);
  expect(contentHash({ tasksText: '', files: { a: file(false), b: file(false) } })).not.toBe(hash);
  expect(contentHash({ tasksText: '#', files: { a: file(true), b: file(false) } })).not.toBe(hash);
});
