import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eraseAllMetadata } from '#agent/erase/erase-disks-fast.ts';
import type { WrittenImageRecord } from '#agent/image-means/written-image.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

const mebibyte = 1024 * 1024;

function disk(name: string, overrides: Partial<BlockDevice> = {}): BlockDevice {
  return testDevice({ name, sizeBytes: 4 * mebibyte, ...overrides });
}

const partition = (name: string): BlockDevice['partitions'][number] => ({
  name,
  number: 1,
  sizeBytes: mebibyte,
});

describe('eraseAllMetadata', () => {
  let directory: string;
  let file: string;
  const commands: string[] = [];
  /** Disks that the last run left alone. */
  const left: string[] = [];

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'baton-erase-'));
    file = join(directory, 'disk');
    await writeFile(file, Buffer.alloc(4 * mebibyte, 0xaa));
    commands.length = 0;
  });
  afterEach(() => rm(directory, { recursive: true }));

  const changes = (): string[] => commands.filter((command) => !/^(udevadm|blkid)/.test(command));

  /** `wipefs` without --all answers `left` for a disk. */
  const erase = async (
    lists: readonly (readonly BlockDevice[])[],
    options: { left?: string; skip?: unknown; record?: WrittenImageRecord } = {},
  ) => {
    const asked = [...lists];
    const run: Run = (command, args) => {
      commands.push([command, ...args].join(' '));
      return Promise.resolve(ranWell(args.includes('--noheadings') ? options.left : ''));
    };
    const { erased, skipped } = await eraseAllMetadata(
      {
        writtenImage: options.record ?? { current: undefined },
        run,
        clock: createInstantClock(),
        log: silentLog,
        signal: new AbortController().signal,
        reportProgress: () => undefined,
        node: {
          uuid: 'n',
          properties: { skip_block_devices: options.skip },
          instance_info: {},
          driver_internal_info: {},
        },
      },
      {
        list: () => Promise.resolve((asked.length > 1 ? asked.shift() : asked[0]) ?? []),
        stopArraysOn: (_run, disks) => {
          commands.push(...disks.flatMap(({ holders }) => holders.map((holder) => `stop ${holder}`)));
          return Promise.resolve();
        },
      },
    );
    left.splice(0, Infinity, ...skipped.map(({ device, reason }) => `${device}: ${reason}`));
    return erased;
  };

  test('wipes partitions, then the disk, its first and last MiB, and verifies', async () => {
    const before = disk(file, { partitions: [partition(`${file}1`)] });
    expect(await erase([[before], [disk(file)]])).toEqual([file]);
    const bytes = await readFile(file);
    expect(bytes.subarray(0, mebibyte).every((byte) => byte === 0)).toBe(true);
    expect(bytes.subarray(mebibyte, 3 * mebibyte).every((byte) => byte === 0xaa)).toBe(true);
    expect(bytes.subarray(3 * mebibyte).every((byte) => byte === 0)).toBe(true);
    expect(commands.filter((command) => command.startsWith('wipefs'))).toEqual([
      `wipefs --all --force ${file}1`,
      `wipefs --all --force ${file}`,
      `wipefs --noheadings --output OFFSET,TYPE ${file}`,
    ]);
  });

  test('what was written is forgotten before the first wipe, and only then', async () => {
    const image = { imageId: 'i', checksum: 'c', device: file, rootUuid: null, headSha256: 'h' };
    const record: WrittenImageRecord = { current: image };
    await expect(erase([[disk(file, { mountpoints: ['/data'] })]], { record })).rejects.toThrow('in use');
    expect(record.current).toBe(image);
    await expect(erase([[disk(join(directory, 'gone'))]], { record })).rejects.toThrow('gone');
    expect(record.current).toBeUndefined();
  });

  test('can be repeated on a disk that is empty already', async () => {
    expect(await erase([[disk(file)]])).toEqual([file]);
    expect(await erase([[disk(file)]])).toEqual([file]);
  });

  test('stops RAID arrays first', async () => {
    await erase([[disk(file, { holders: ['/dev/md127'] })], [disk(file)]]);
    expect(commands).toContain('stop /dev/md127');
    expect(commands.findIndex((each) => each.startsWith('wipefs'))).toBeGreaterThan(
      commands.indexOf('stop /dev/md127'),
    );
  });

  test('leaves out what is not a disk to install on', async () => {
    const others = [
      disk('/dev/sr0', { type: 'rom' }),
      disk('/dev/sdb', { readOnly: true }),
      disk('/dev/sdc', { removable: true, tran: 'usb', vendor: 'AMI', model: 'Virtual HDisk0' }),
      disk('/dev/sdd', { sizeBytes: 0 }),
      disk('/dev/zram0'),
      disk('/dev/md0', { type: 'raid1' }),
    ];
    expect(await erase([[disk(file), ...others]])).toEqual([file]);
    expect(left).toEqual([
      '/dev/sdb: it is read-only',
      "/dev/sdc: it is the BMC's virtual media",
      '/dev/sdd: it shows no capacity, being broken or locked',
    ]);
  });

  test('leaves out what the operator asked to skip', async () => {
    const kept = disk('/dev/nvme0n1', { serial: 'KEEP' });
    expect(await erase([[disk(file, { serial: 'a' }), kept]], { skip: [{ serial: 'keep' }] })).toEqual([file]);
  });

  test.each([
    ['text', /skip_block_devices must be a list/],
    [[{ colour: 'red' }], /skip_block_devices\[0\].colour is not a known hint/],
    [[{ volume_name: 'data' }], /volume_name/],
  ])('a skip list %j that it does not understand stops it before anything is touched', async (skip, message) => {
    await expect(erase([[disk(file)]], { skip })).rejects.toThrow(message);
    expect(changes()).toEqual([]);
  });

  test('a mounted disk stops it before anything is touched, and is named', async () => {
    const mounted = disk('/dev/vdb', { mountpoints: ['/data'] });
    await expect(erase([[disk(file), mounted]])).rejects.toThrow('/dev/vdb is in use: mounted on /data');
    expect(changes()).toEqual([]);
    expect((await readFile(file))[0]).toBe(0xaa);
  });

  test('a holder that is not a RAID array is named', async () => {
    await expect(erase([[disk(file, { holders: ['/dev/dm-0'] })]])).rejects.toThrow('in use by /dev/dm-0');
    expect((await readFile(file))[0]).toBe(0xaa);
  });

  test('an array that a disk shares with one to be skipped stops it', async () => {
    const holders = ['/dev/md127'];
    const devices = [disk(file, { holders }), disk('/dev/vdb', { holders, serial: 'keep' })];
    await expect(erase([devices], { skip: [{ serial: 'keep' }] })).rejects.toThrow('are both members of /dev/md127');
    expect(changes()).toEqual([]);
  });

  test('a signature or partition that is still there afterwards is an error', async () => {
    await expect(erase([[disk(file)]], { left: '0x438  ext4\n' })).rejects.toThrow(/still shows 0x438 ext4/);
    const stubborn = disk(file, { partitions: [partition(`${file}1`)] });
    await expect(erase([[stubborn]])).rejects.toThrow(/still shows partition/);
  });

  test('a disk that can not be written is named', async () => {
    await expect(erase([[disk(join(directory, 'gone'))]])).rejects.toThrow(/erase the metadata of .*gone/);
  });
});
