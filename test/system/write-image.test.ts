import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Behaviour, serveImage } from '#agent/image/testing/image-server.ts';
import { fetchConfigDrive, writeConfigDrive } from '#agent/image/write-config-drive.ts';
import { writeWholeDisk } from '#agent/image/write-whole-disk.ts';
import type { WrittenImage } from '#agent/image-means/written-image.ts';
import { type BlockDevice, runLsblk } from '#agent/storage/lsblk.ts';
import { probePartitions } from '#agent/storage/partition-table.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { withLoopDevice } from '#test/support/loop-device.ts';
import { noise } from '#test/support/noise.ts';

/** The image writer on real block devices (loop), with the tools of the ramdisk; needs root. */

const mib = 1024 * 1024;
const diskBytes = 400 * mib;

const files = { folder: '', gpt: '', gptZstd: '', msdos: '', blank: '', configDrive: '' };

beforeAll(async () => {
  files.folder = await mkdtemp(join(tmpdir(), 'baton-write-image-'));
  const path = (name: string): string => join(files.folder, name);
  await makeGptImage(path('gpt.img'));
  await run('zstd', ['--quiet', path('gpt.img'), '-o', path('gpt.img.zst')]);
  await run('truncate', ['--size', String(100 * mib), path('msdos.img')]);
  await run('parted', ['--script', path('msdos.img'), 'mklabel', 'msdos', 'mkpart', 'primary', 'ext4', '1MiB', '100%']);
  await mkdir(path('drive/openstack/latest'), { recursive: true });
  await writeFile(path('drive/openstack/latest/meta_data.json'), '{"hostname": "node-1"}');
  await run('genisoimage', ['-quiet', '-R', '-V', 'config-2', '-o', path('drive.iso'), path('drive')]);
  Object.assign(files, {
    gpt: path('gpt.img'),
    gptZstd: path('gpt.img.zst'),
    msdos: path('msdos.img'),
    configDrive: path('drive.iso'),
  });
});
afterAll(() => rm(files.folder, { recursive: true, force: true }));

/** An ESP and a root partition with bytes that do not compress in the middle of holes. */
async function makeGptImage(path: string): Promise<void> {
  await run('truncate', ['--size', String(200 * mib), path]);
  const partitions = ['--new', '1:2048:+32M', '--typecode', '1:ef00', '--new', '2:0:0', '--change-name', '2:root'];
  await run('sgdisk', [...partitions, path]);
  const file = await open(path, 'r+');
  await file.write(noise('root', 20 * mib), 0, 20 * mib, 100 * mib + 4096);
  await file.close();
}

async function write(
  device: BlockDevice,
  imagePath: string,
  sha256?: string,
  behaviour: Behaviour = {},
): Promise<WrittenImage> {
  const image = await readFile(imagePath);
  await using server = await serveImage(image, [], behaviour);
  const hex = sha256 ?? createHash('sha256').update(image).digest('hex');
  const info = { id: 'disk.img', urls: [server.url] };
  // awaited here: the server goes away with this scope
  return await writeWholeDisk(context, device, info, { algorithm: 'sha256', hex }, { maxTries: 1 });
}

const context = {
  run,
  clock: systemClock,
  log: silentLog,
  signal: new AbortController().signal,
  reportProgress: () => undefined,
};

function withDisk(use: (device: BlockDevice) => Promise<void>): Promise<void> {
  return withLoopDevice(join(files.folder, 'disk'), diskBytes, async (name) => {
    const [device] = await runLsblk(run, [name]);
    if (device === undefined) throw new Error(`no device ${name}`);
    await use(device);
  });
}

/** Soils the disk: what was there before must not shine through the image's holes. */
async function soil(device: BlockDevice): Promise<void> {
  const file = await open(device.name, 'r+');
  const old = Buffer.alloc(10 * mib, 0xaa);
  for (let at = 0; at < 210 * mib; at += old.length) await file.write(old, 0, old.length, at);
  await file.close();
}

/** Neither boot code nor a partition table, at either end. */
async function expectNotBootable(device: BlockDevice): Promise<void> {
  const file = await open(device.name, 'r');
  const ends = Buffer.alloc(2 * mib, 1);
  await file.read(ends, 0, mib, 0);
  await file.read(ends, mib, mib, device.sizeBytes - mib);
  await file.close();
  expect(ends.every((byte) => byte === 0)).toBe(true);
}

describe('an image that all its servers have another file for, amid the download', () => {
  const replaced = async (device: BlockDevice, first: Buffer, now: Buffer, sha256: string): Promise<WrittenImage> => {
    await using server = await serveImage(now, [{ body: first, dropAfter: 150 * mib }], { etag: '"v2"' });
    const info = { id: 'disk.img', urls: [server.url] };
    const checksum = { algorithm: 'sha256', hex: sha256 } as const;
    return await writeWholeDisk(context, device, info, checksum, { retryDelayMs: 0 });
  };
  const digest = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

  test('is read again from its beginning: only a part of it was there', () =>
    withDisk(async (device) => {
      await soil(device);
      const image = await readFile(files.gpt);
      await replaced(device, image.subarray(0, 190 * mib), image, digest(image));
      const disk = await readFile(device.name);
      // the backup GPT is at the disk's end
      expect(disk.subarray(mib, 199 * mib).equals(image.subarray(mib, 199 * mib))).toBe(true);
    }));

  test('fails by the checksum where another image took its place', () =>
    withDisk(async (device) => {
      const image = await readFile(files.gpt);
      const other = Buffer.concat([image, Buffer.alloc(mib)]);
      await expect(replaced(device, image, other, digest(image))).rejects.toMatchObject({
        code: 'image_error',
        message: expect.stringContaining('as it was replaced on its server'),
        cause: { message: expect.stringMatching(/sha256 is not/) },
      });
      expect((await probePartitions(run, device.name)).length).toBe(0);
    }));
});

describe('a whole-disk image', () => {
  test('with GPT: bytes as in the image, backup GPT at the end, config drive in a partition of its own', () =>
    withDisk(async (device) => {
      await soil(device);
      expect(await write(device, files.gptZstd)).toMatchObject({ device: device.name, rootUuid: null });
      // the GPT's two headers change when the backup moves; all between them is as in the image
      const range = ['--ignore-initial', String(mib), '--bytes', String(198 * mib)];
      await run('cmp', [...range, files.gpt, device.name]);
      expect((await run('sgdisk', ['--verify', device.name])).stdout).toContain('No problems found');

      const drive = await fetchConfigDrive(gzipSync(await readFile(files.configDrive)).toString('base64'), {
        signal: context.signal,
      });
      const partition = await writeConfigDrive(context, device.name, drive);
      // again is into the same partition
      expect(await writeConfigDrive(context, device.name, drive)).toBe(partition);
      expect(partition).toBe(`${device.name}p3`);
      const probed = await probePartitions(run, device.name);
      expect(probed.map(({ number, partLabel, fsLabel }) => [number, partLabel, fsLabel])).toEqual([
        [1, null, null],
        [2, 'root', null],
        [3, 'config-2', 'config-2'],
      ]);
      await run('cmp', ['--bytes', String(drive.length), files.configDrive, partition]);
    }));

  test('with msdos table: the disk identifier, and the config drive in a primary partition', () =>
    withDisk(async (device) => {
      const written = await write(device, files.msdos);
      expect(written.rootUuid).toMatch(/^0x[0-9a-f]{8}$/);
      const partition = await writeConfigDrive(context, device.name, await readFile(files.configDrive));
      expect(partition).toBe(`${device.name}p2`);
      const [, drive] = await probePartitions(run, device.name);
      expect(drive).toMatchObject({ fsType: 'iso9660', fsLabel: 'config-2', sizeBytes: 64 * mib });
    }));

  test('over another one that has more partitions', () =>
    withDisk(async (device) => {
      await run('sgdisk', [
        '--new',
        '1:0:+10M',
        '--new',
        '2:0:+10M',
        '--new',
        '3:0:+10M',
        '--new',
        '4:0:0',
        device.name,
      ]);
      await write(device, files.gpt);
      expect(await probePartitions(run, device.name)).toHaveLength(2);
    }));
});

describe('a qcow2 image as QEMU makes it', () => {
  test.each([
    ['plain', []],
    ['of version 2', ['-o', 'compat=0.10']],
    ['compressed with deflate', ['-c']],
    ['compressed with zstd', ['-c', '-o', 'compression_type=zstd']],
    ['with clusters of 2 MiB', ['-o', 'cluster_size=2M']],
    ['with clusters of 512 bytes', ['-o', 'cluster_size=512']],
    ['with all tables before the data', ['-o', 'preallocation=metadata']],
  ])('%s', (_name, options) =>
    withDisk(async (device) => {
      const image = join(files.folder, 'disk.qcow2');
      await run('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', ...options, files.gpt, image]);
      for (const behaviour of [{}, { ignoreRange: true }]) {
        await soil(device);
        expect(await write(device, image, undefined, behaviour)).toMatchObject({ device: device.name });
        await run('cmp', ['--ignore-initial', String(mib), '--bytes', String(198 * mib), files.gpt, device.name]);
        expect((await run('sgdisk', ['--verify', device.name])).stdout).toContain('No problems found');
      }
    }),
  );

  test('with a snapshot, and clusters written again in disorder', () =>
    withDisk(async (device) => {
      const image = join(files.folder, 'used.qcow2');
      await run('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', files.gpt, image]);
      await run('qemu-img', ['snapshot', '-c', 'before', image]);
      const io = ['write -P 0x11 150M 3M', 'write -P 0x22 120M 1M', 'write -z 101M 4M', 'discard 110M 2M'];
      await run('qemu-io', ['-f', 'qcow2', ...io.flatMap((command) => ['-c', command]), image]);
      const raw = join(files.folder, 'used.img');
      await run('qemu-img', ['convert', '-f', 'qcow2', '-O', 'raw', image, raw]);
      await soil(device);
      expect(await write(device, image)).toMatchObject({ device: device.name });
      await run('cmp', ['--ignore-initial', String(mib), '--bytes', String(198 * mib), raw, device.name]);
    }));

  test('with a backing file leaves the disk as it was', () =>
    withDisk(async (device) => {
      const image = join(files.folder, 'overlay.qcow2');
      await run('qemu-img', ['create', '-q', '-f', 'qcow2', '-F', 'raw', '-b', files.gpt, image]);
      await run('mkfs.ext4', ['-q', '-L', 'precious', device.name]);
      await expect(write(device, image)).rejects.toThrow(/has a backing file: flatten it/);
      expect((await run('blkid', ['--probe', device.name])).stdout).toContain('LABEL="precious"');
    }));

  test('without a partition table leaves the disk as it was', () =>
    withDisk(async (device) => {
      const image = join(files.folder, 'blank.qcow2');
      await run('qemu-img', ['create', '-q', '-f', 'qcow2', image, '100M']);
      await run('mkfs.ext4', ['-q', '-L', 'precious', device.name]);
      await expect(write(device, image)).rejects.toThrow(/has no partition table/);
      expect((await run('blkid', ['--probe', device.name])).stdout).toContain('LABEL="precious"');
    }));
});

describe('failures', () => {
  test('a wrong checksum leaves a disk that does not boot', () =>
    withDisk(async (device) => {
      await write(device, files.gpt);
      await expect(write(device, files.gptZstd, 'a'.repeat(64))).rejects.toThrow(/sha256 is not aaaa/);
      await expectNotBootable(device);
    }));

  test.each([
    ['an image without a partition table', { logicalSectorBytes: 512 }, 'blank', /has no partition table/],
    [
      'a GPT for other sectors',
      { logicalSectorBytes: 4096 },
      'gpt',
      /GPT is for sectors of 512 bytes, disk .* has 4096/,
    ],
  ] as const)('%s leaves the disk as it was', (_name, fields, file, text) =>
    withDisk(async (device) => {
      files.blank = join(files.folder, 'blank.img');
      await writeFile(files.blank, Buffer.alloc(3 * mib, 'no table'));
      await run('mkfs.ext4', ['-q', '-L', 'precious', device.name]);
      await expect(write({ ...device, ...fields }, files[file])).rejects.toThrow(text);
      expect((await run('blkid', ['--probe', device.name])).stdout).toContain('LABEL="precious"');
    }),
  );

  test('a disk that is mounted keeps all it has', () =>
    withDisk(async (device) => {
      await run('mkfs.ext4', ['-q', device.name]);
      const folder = join(files.folder, 'mounted');
      await mkdir(folder, { recursive: true });
      await run('mount', [device.name, folder]);
      try {
        await writeFile(join(folder, 'file'), 'precious');
        await expect(write(device, files.gpt)).rejects.toThrow(`disk ${device.name} is mounted or otherwise in use`);
        await run('umount', [folder]);
        await run('mount', [device.name, folder]);
        expect(await readFile(join(folder, 'file'), 'utf8')).toBe('precious');
      } finally {
        await run('umount', [folder]);
      }
    }));

  test('a disk that is missing', async () => {
    const gone = testDevice({ name: '/dev/baton-gone', sizeBytes: diskBytes });
    await expect(write(gone, files.gpt)).rejects.toThrow('disk /dev/baton-gone is missing');
  });

  test('a config drive without room', () =>
    withDisk(async (device) => {
      await run('sgdisk', ['--new', '1:0:0', device.name]);
      await run('partx', ['--update', device.name]);
      const drive = await readFile(files.configDrive);
      await expect(writeConfigDrive(context, device.name, drive)).rejects.toThrow(
        `write the config drive to ${device.name}`,
      );
    }));
});
