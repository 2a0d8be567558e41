import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readRequestedPartitions } from '#agent/image/requested-partitions.ts';
import { serveImage } from '#agent/image/testing/image-server.ts';
import { writePartitionImage } from '#agent/image/write-partition-image.ts';
import type { WrittenImage } from '#agent/image-means/written-image.ts';
import { type BlockDevice, type ProbedPartition, runLsblk } from '#agent/storage/lsblk.ts';
import { probePartitions } from '#agent/storage/partition-table.ts';
import { readDiskTable } from '#agent/storage/sfdisk.ts';
import { systemClock } from '#shared/clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { ImageInfo } from '#shared/in-band/image-info.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { withLoopDevice } from '#test/support/loop-device.ts';
import { noise } from '#test/support/noise.ts';

/** Partition images on real block devices (loop), with the tools of the ramdisk; needs root and qemu-img. */

const mib = 1024 * 1024;
const diskBytes = 1000 * mib;
const rootUuid = 'b2a70000-0000-4000-8000-00000000abcd';
const files = {
  folder: '',
  root: '',
  rootQcow2: '',
  rootPacked: '',
  rootZstd: '',
  wholeDisk: '',
  drive: '',
  noise: '',
  swap: '',
  noUuid: '',
  newXfs: '',
};
/** Time that a machine may take that has other work to do as well. */
const unhurried = { timeoutMs: 30 * 60_000 };
const context = {
  run,
  clock: systemClock,
  log: silentLog,
  signal: new AbortController().signal,
  reportProgress: () => undefined,
};

beforeAll(async () => {
  files.folder = await mkdtemp(join(tmpdir(), 'baton-partition-image-'));
  const path = (name: string): string => join(files.folder, name);
  await mkdir(path('tree/etc'), { recursive: true });
  await writeFile(path('tree/etc/hostname'), 'partition-image\n');
  await writeFile(path('tree/noise'), noise('root', 5 * mib));
  await run('mkfs.ext4', ['-q', '-F', '-U', rootUuid, '-d', path('tree'), path('root.img'), '60M']);
  await run('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', path('root.img'), path('root.qcow2')]);
  await run('qemu-img', ['convert', '-c', '-f', 'raw', '-O', 'qcow2', path('root.img'), path('packed.qcow2')]);
  await run('truncate', ['--size', '20M', path('whole.img')]);
  await run('sgdisk', ['--new', '1:0:0', path('whole.img')]);
  await run('genisoimage', ['-quiet', '-R', '-V', 'config-2', '-o', path('drive.iso'), path('tree/etc')]);
  await writeFile(path('noise.img'), noise('image', 2 * mib));
  await run('truncate', ['--size', '2M', path('swap.img')]);
  await run('mkswap', [path('swap.img')]);
  await run('zstd', ['--quiet', '--no-content-size', path('root.img'), '-o', path('root.zst')]);
  await run('mkfs.ext4', ['-q', '-F', '-U', 'clear', path('no-uuid.img'), '20M']);
  await run('mkfs.xfs', ['-q', '-f', '-d', `name=${path('new.xfs')},file,size=320m`]);
  await using superblock = await open(path('new.xfs'), 'r+');
  // such as no kernel has yet
  const incompatible = (await superblock.read(Buffer.alloc(4), 0, 4, 216)).buffer;
  incompatible.writeUInt32BE(incompatible.readUInt32BE(0) | 0x6000_0000);
  await superblock.write(incompatible, 0, 4, 216);
  Object.assign(files, {
    newXfs: path('new.xfs'),
    noise: path('noise.img'),
    swap: path('swap.img'),
    rootZstd: path('root.zst'),
    noUuid: path('no-uuid.img'),
    root: path('root.img'),
    rootQcow2: path('root.qcow2'),
    rootPacked: path('packed.qcow2'),
    wholeDisk: path('whole.img'),
    drive: path('drive.iso'),
  });
});
afterAll(() => rm(files.folder, { recursive: true, force: true }));

interface Options {
  readonly fields?: Record<string, unknown>;
  readonly image?: string;
  readonly drive?: boolean;
  readonly sha256?: string;
}

async function write(device: BlockDevice, options: Options = {}): Promise<WrittenImage> {
  const image = await readFile(options.image ?? files.root);
  await using server = await serveImage(image);
  const hex = options.sha256 ?? createHash('sha256').update(image).digest('hex');
  const fields = { id: 'root.img', image_type: 'partition', root_mb: 100, ...options.fields };
  const info = ImageInfo.parse({ ...fields, urls: [server.url] });
  const drive = options.drive ? await readFile(files.drive) : undefined;
  const requested = readRequestedPartitions(info, drive !== undefined, 'bios');
  const wanted = { info, checksum: { algorithm: 'sha256' as const, hex }, requested, drive };
  return await writePartitionImage(context, device, wanted, { maxTries: 1 });
}

async function failureOf(device: BlockDevice, options: Options): Promise<string> {
  return write(device, options).then(() => 'written', errorChain);
}

function withDisk(use: (device: BlockDevice) => Promise<void>): Promise<void> {
  return withLoopDevice(join(files.folder, 'disk'), diskBytes, async (name) => {
    const [device] = await runLsblk(run, [name]);
    if (device === undefined) throw new Error(`no device ${name}`);
    await use(device);
  });
}

/** Number, MiB, file system and label of each partition. */
function summary(partitions: readonly ProbedPartition[]): unknown {
  return partitions.map(({ number, sizeBytes, fsType, fsLabel }) => [number, sizeBytes / mib, fsType, fsLabel]);
}

/** Mounts the root partition: whether all is in it, and whether it fills its partition. */
async function readRootSystem(
  partition: string,
  partitionMib: number,
): Promise<{ hostname: string; isFilled: boolean }> {
  const folder = join(files.folder, 'mounted');
  await mkdir(folder, { recursive: true });
  await run('mount', ['-o', 'ro', partition, folder]);
  try {
    await run('cmp', [join(folder, 'noise'), join(files.folder, 'tree/noise')]);
    const { stdout } = await run('stat', ['--file-system', '--format', '%b %S', folder]);
    const [blocks = 0, size = 0] = stdout.split(' ').map(Number);
    const hostname = await readFile(join(folder, 'etc/hostname'), 'utf8');
    return { hostname, isFilled: (blocks * size) / mib > partitionMib * 0.8 };
  } finally {
    await run('umount', [folder]);
  }
}

const whole = { hostname: 'partition-image\n', isFilled: true };

describe('layouts', () => {
  test('UEFI: all partitions in order, the root last', () =>
    withDisk(async (device) => {
      await run('dd', ['if=/dev/urandom', `of=${device.name}`, 'bs=1M', 'count=900', 'status=none'], unhurried);
      const fields = { deploy_boot_mode: 'uefi', swap_mb: 40, ephemeral_mb: 70, root_mb: 200 };
      const written = await write(device, { fields, drive: true });
      const partitions = await probePartitions(run, device.name);
      expect(summary(partitions)).toEqual([
        [1, 550, 'vfat', 'efi-part'],
        [2, 70, 'ext4', 'ephemeral0'],
        [3, 40, 'swap', 'swap1'],
        [4, 64, 'iso9660', 'config-2'],
        [5, 200, 'ext4', null],
      ]);
      expect((await readDiskTable(run, device.name)).label).toBe('gpt');
      expect(written).toMatchObject({ rootUuid, efiSystemPartitionUuid: partitions[0]?.fsUuid });
      await run('cmp', ['--bytes', String((await readFile(files.drive)).length), files.drive, `${device.name}p4`]);
      expect(await readRootSystem(`${device.name}p5`, 200)).toEqual(whole);
    }));

  test.each([
    ['an MBR by default', {}, 'msdos', [[1, 100, 'ext4', null]]],
    [
      'a GPT when asked',
      { disk_label: 'gpt', swap_mb: 10 },
      'gpt',
      [
        [1, 1, null, null],
        [2, 10, 'swap', 'swap1'],
        [3, 100, 'ext4', null],
      ],
    ],
  ])('BIOS: %s', (_name, fields, label, expected) =>
    withDisk(async (device) => {
      expect(await write(device, { fields })).toMatchObject({ rootUuid, efiSystemPartitionUuid: null });
      expect((await readDiskTable(run, device.name)).label).toBe(label);
      expect(summary(await probePartitions(run, device.name))).toEqual(expected);
      expect(await readRootSystem(`${device.name}p${expected.length}`, 100)).toEqual(whole);
    }),
  );
});

test.each([
  ['plain', 'rootQcow2'],
  ['compressed', 'rootPacked'],
] as const)('a root file system as qcow2, %s', (_name, file) =>
  withDisk(async (device) => {
    await run('dd', ['if=/dev/urandom', `of=${device.name}`, 'bs=1M', 'count=200', 'status=none'], unhurried);
    await write(device, { image: files[file], fields: { disk_format: 'qcow2' } });
    expect(await readRootSystem(`${device.name}p1`, 100)).toEqual(whole);
  }),
);

describe('the ephemeral partition', () => {
  const fields = { swap_mb: 10, ephemeral_mb: 70 };

  test('is kept when asked, and the root is written again', () =>
    withDisk(async (device) => {
      await write(device, { fields });
      const [before] = await probePartitions(run, device.name);
      await write(device, { fields: { ...fields, preserve_ephemeral: true }, image: files.rootQcow2 });
      const [after] = await probePartitions(run, device.name);
      expect(after?.fsUuid).toBe(before?.fsUuid);
      expect(await readRootSystem(`${device.name}p3`, 100)).toEqual(whole);
    }));

  test('can not be kept on a disk that is laid out otherwise', () =>
    withDisk(async (device) => {
      await write(device, { fields });
      const other = { ...fields, swap_mb: 20, preserve_ephemeral: true };
      expect(await failureOf(device, { fields: other })).toMatch(/partition 2 \(swap\) is 10485760 bytes at/);
      expect(await readRootSystem(`${device.name}p3`, 100)).toEqual(whole);
    }));
});

describe('failures', () => {
  test.each([
    [
      'an image larger than its partition',
      { fields: { root_mb: 50 } },
      /\/dev\/loop\d+p1 is too small: it has 52428800/,
    ],
    ['partitions larger than the disk', { fields: { root_mb: 1000 } }, /do not hold the partitions \(MiB: root 1000\)/],
    ['a whole-disk image', { file: 'wholeDisk' }, /has a partition table: it is a whole-disk image/],
    [
      'a packed image with a file system larger than its partition',
      { fields: { root_mb: 50 }, file: 'rootZstd' },
      /p1 is too small: it has 52428800 bytes, the image needs 62914560/,
    ],
    [
      'what is no file system',
      { file: 'noise' },
      /the image is nothing known, not a root file system with a UUID \(ext/,
    ],
    [
      'XFS that is newer than the kernel',
      { file: 'newXfs', fields: { root_mb: 400 } },
      /the image's xfs file system has features that the ramdisk's kernel can't mount \(number 29, number 30\)/,
    ],
    ['swap', { file: 'swap' }, /the image is of swap, not a root file system/],
    ['a file system without a UUID', { file: 'noUuid' }, /the image is of ext, not a root file system with a UUID/],
  ] as const)('%s leaves the disk as it was', (_name, options, text) =>
    withDisk(async (device) => {
      await run('mkfs.ext4', ['-q', '-L', 'precious', device.name]);
      const image = 'file' in options ? { image: files[options.file] } : {};
      expect(await failureOf(device, { ...options, ...image })).toMatch(text);
      expect((await run('blkid', ['--probe', device.name])).stdout).toContain('LABEL="precious"');
    }),
  );

  test('a wrong checksum leaves no table and no root file system', () =>
    withDisk(async (device) => {
      expect(await failureOf(device, { sha256: 'a'.repeat(64) })).toMatch(/sha256 is not aaaa/);
      expect(await readDiskTable(run, device.name)).toEqual({ label: 'none' });
      const { exitCode } = await run('blkid', ['--probe', '--offset', String(mib), device.name], {
        okExitCodes: [0, 2],
      });
      expect(exitCode).toBe(2);
    }));

  test('software RAID', () =>
    withDisk(async (device) => {
      const text = /the root device .* is software RAID: give a whole-disk image/;
      expect(await failureOf({ ...device, type: 'raid1' }, {})).toMatch(text);
    }));
});
