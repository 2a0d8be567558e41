import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { eraseDisk } from '#agent/erase/erase-disk.ts';
import type { EraseMethod } from '#agent/erase/erase-methods.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { readEraseOptions } from '#shared/in-band/erase-options.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

const sizeBytes = 4 * 1024 * 1024;
const overwriting: EraseMethod = { kind: 'overwrite', secure: false };
const sanitizing: EraseMethod = { kind: 'nvme_sanitize', action: 'block erase', secure: true };
const formatting: EraseMethod = { kind: 'nvme_format', secureErase: 1, secure: true };

let folder: string;
/** A disk in failed sanitize: it can't be opened, and takes no format, until another sanitize has succeeded. */
let file: string;
let commands: string[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-erase-disk-'));
  file = join(folder, 'disk');
  commands = [];
});
afterEach(() => rm(folder, { recursive: true }));

const run: Run = async (command, args) => {
  if (command !== 'nvme') return ranWell();
  commands.push(args[0] ?? '');
  if (args[0] === 'format') throw new AppError('command_failed', 'Sanitize Failed: the most recent sanitize failed');
  if (args[0] === 'sanitize') await writeFile(file, Buffer.alloc(sizeBytes));
  return ranWell(args[0] === 'sanitize-log' ? '{"sprog": 65535, "sstat": 1}' : '');
};
const services = { run, clock: createInstantClock(), log: silentLog, signal: new AbortController().signal };
const erase = (methods: readonly EraseMethod[], driverInfo: Record<string, unknown> = {}) =>
  eraseDisk(
    services,
    testDevice({ name: file, sizeBytes }),
    methods,
    readEraseOptions({ driver_internal_info: driverInfo }),
    () => undefined,
  );

test('a disk to which nothing can be written is erased by its own means', async () => {
  const erased = await erase([formatting, sanitizing, overwriting]);
  expect(commands).toEqual(['format', 'sanitize', 'sanitize-log']);
  expect(erased).toMatchObject({ method: 'nvme sanitize, block erase', proof: { canaries: 0, reads: 'zeros' } });
  expect(erased.tried?.[0]).toMatch(/^nvme format, secure erase 1: Sanitize Failed/);
});

test('but not by others, which would write', async () => {
  await expect(erase([overwriting])).rejects.toThrow(`disk ${file} is missing`);
  await expect(erase([formatting, overwriting], { agent_continue_if_secure_erase_failed: true })).rejects.toMatchObject(
    { message: 'no way to erase it worked' },
  );
});

test('with all it can do proved where it takes random bytes', async () => {
  await writeFile(file, Buffer.alloc(sizeBytes, 0xaa));
  expect(await erase([overwriting])).toMatchObject({ method: 'overwrite', proof: { canaries: 64, reads: 'zeros' } });
});

test('a way that failed half-way does not prove the next', async () => {
  await writeFile(file, Buffer.alloc(sizeBytes, 0xaa));
  const halfWay: Run = async (command, args) => {
    if (command === 'nvme' && args[0] === 'format') {
      await writeFile(file, Buffer.alloc(sizeBytes, 0x17));
      throw new AppError('command_failed', 'format: it broke off');
    }
    return ranWell(args[0] === 'sanitize-log' ? '{"sprog": 65535, "sstat": 1}' : '');
  };
  const disk = testDevice({ name: file, sizeBytes });
  const options = readEraseOptions({ driver_internal_info: {} });
  await expect(
    eraseDisk({ ...services, run: halfWay }, disk, [formatting, sanitizing], options, () => undefined),
  ).rejects.toMatchObject({
    cause: {
      errors: [expect.anything(), expect.objectContaining({ message: expect.stringContaining('still has at byte 0') })],
    },
  });
});
