import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeUnusable } from '#agent/image/disk/make-unusable.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { type Run, run } from '#shared/process/run.ts';

const mebibyte = 1024 * 1024;
let folder: string;
let device: { name: string; sizeBytes: number };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-unusable-'));
  device = { name: join(folder, 'disk'), sizeBytes: 3 * mebibyte };
  await writeFile(device.name, Buffer.alloc(device.sizeBytes, 0xaa));
});
afterEach(() => rm(folder, { recursive: true }));

const opened = (close = (): Promise<void> => Promise.resolve()) => [{ name: `${device.name}1`, close }];
const isZeroedAtItsEnds = async (): Promise<boolean> => {
  const bytes = await readFile(device.name);
  return (
    bytes.subarray(0, mebibyte).every((byte) => byte === 0) && bytes.subarray(-mebibyte).every((byte) => byte === 0)
  );
};

test('the table goes even when the file system can not be wiped, nor its partition closed', async () => {
  const seen: string[] = [];
  const failing: Run = (command, args) => {
    seen.push([command, ...args].join(' '));
    return Promise.reject(new AppError('command_failed', 'Input/output error'));
  };
  const close = (): Promise<void> => Promise.reject(new Error('EIO'));
  await makeUnusable({ run: failing, log: silentLog }, device, opened(close), false);
  expect(seen).toEqual([`wipefs --all --force ${device.name}1`]);
  expect(await isZeroedAtItsEnds()).toBe(true);
});

test('with a table to keep, and an agent that was stopped, the partition is wiped', async () => {
  const seen: string[] = [];
  const stopped: Run = async (command, _args, options) => {
    const result = await run('true', [], { signal: AbortSignal.abort(), ...options });
    seen.push(command);
    return result;
  };
  await makeUnusable({ run: stopped, log: silentLog }, device, opened(), true);
  expect(seen).toEqual(['wipefs']);
  expect(await isZeroedAtItsEnds()).toBe(false);
});
