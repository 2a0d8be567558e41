import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { verifyPass } from '#agent/burnin/burn-in-disks.ts';
import { type RawDisk, withRawDisk } from '#agent/erase/raw-disk.ts';

const bytes = 3 * 1024 * 1024 + 512;
let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-burnin-'));
  file = join(folder, 'disk');
  await writeFile(file, Buffer.alloc(bytes));
});
afterEach(() => rm(folder, { recursive: true }));

const pass = (
  change: (raw: RawDisk) => RawDisk = (raw) => raw,
  until = { signal: new AbortController().signal, isOver: () => false },
  onBytes: (done: number) => void = () => undefined,
) =>
  withRawDisk(
    { name: file, sizeBytes: bytes },
    (raw, pool) => verifyPass(change(raw), pool, until, onBytes),
    (name) => open(name, 'r+'),
  );

test('writes and compares every byte', async () => {
  const reported: number[] = [];
  expect(await pass(undefined, undefined, (done) => reported.push(done))).toBe(bytes);
  expect(reported.at(-1)).toBe(2 * bytes);
  const first = await readFile(file);
  expect(first.subarray(-512).some((byte) => byte !== 0)).toBe(true);
  await pass();
  expect((await readFile(file)).equals(first)).toBe(false);
});

test('a changed bit is found, with its place', async () => {
  const flipped = pass((raw) => ({
    ...raw,
    read: async (into, offset) => {
      await raw.read(into, offset);
      if (offset > 0) into.writeUInt8(into.readUInt8(77) ^ 4, 77);
    },
  }));
  await expect(flipped).rejects.toThrow(/1 of 1048576 from byte 1048576, the first at 1048653/);
});

test('when the time is over, what was written is still compared', async () => {
  let asked = 0;
  const isOver = (): boolean => {
    asked += 1;
    return asked > 2;
  };
  expect(await pass(undefined, { signal: new AbortController().signal, isOver })).toBe(2 * 1024 * 1024);
});

test('stops with the agent', async () => {
  await expect(pass(undefined, { signal: AbortSignal.abort(), isOver: () => false })).rejects.toMatchObject({
    code: 'aborted',
  });
});
