import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readEventLog } from '#agent/tpm/event-log.ts';

describe("the firmware's event log", () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'baton-securityfs-'));
  });
  afterEach(() => rm(root, { recursive: true }));

  const write = async (content: Buffer): Promise<void> => {
    await mkdir(join(root, 'tpm0'), { recursive: true });
    await writeFile(join(root, 'tpm0/binary_bios_measurements'), content);
  };

  test('is read whole, up to 512 KiB', async () => {
    const log = Buffer.alloc(512 * 1024, 'event');
    await write(log);
    expect(await readEventLog('tpm0', root)).toEqual({ log });
    await write(Buffer.concat([log, Buffer.from('x')]));
    expect(await readEventLog('tpm0', root)).toEqual({
      problem: "the firmware's event log has more than 524288 bytes",
    });
  });

  test('is missed in words', async () => {
    expect(await readEventLog('tpm0', root)).toEqual({
      problem: `the firmware has handed over no event log: there is no ${root}/tpm0/binary_bios_measurements`,
    });
    await write(Buffer.alloc(0));
    expect(await readEventLog('tpm0', root)).toEqual({
      problem: `the firmware's event log, ${root}/tpm0/binary_bios_measurements, is empty`,
    });
    await rm(join(root, 'tpm0/binary_bios_measurements'));
    await mkdir(join(root, 'tpm0/binary_bios_measurements'));
    expect(await readEventLog('tpm0', root)).toMatchObject({
      problem: expect.stringMatching(/^the firmware's event log can't be read: EISDIR/),
    });
  });
});
