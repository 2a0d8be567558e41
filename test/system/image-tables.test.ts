import { createHash } from 'node:crypto';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TableUse } from '#agent/image/disk/check-table.ts';
import { serveImage } from '#agent/image/testing/image-server.ts';
import { writeConfigDrive } from '#agent/image/write-config-drive.ts';
import { writeWholeDisk } from '#agent/image/write-whole-disk.ts';
import { type BlockDevice, runLsblk } from '#agent/storage/lsblk.ts';
import { probePartitions } from '#agent/storage/partition-table.ts';
import { systemClock } from '#shared/clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { withLoopDevice } from '#test/support/loop-device.ts';

/** Images whose table does not fit the disk, and what is kept of those that do, on loop devices; needs root. */

const mib = 1024 * 1024;
const context = {
  run,
  clock: systemClock,
  log: silentLog,
  signal: new AbortController().signal,
  reportProgress: () => undefined,
};
let folder = '';
let drive = Buffer.alloc(0);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-image-tables-'));
  const path = join(folder, 'drive');
  await run('mkfs.vfat', ['-C', '-n', 'config-2', path, '400']);
  drive = await readFile(path);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** An image of so many MiB with this table, as sfdisk makes it, and ext4 from 21 MiB where it says so. */
async function makeImage(sizeMib: number, script: string, ext?: { readonly mib: number }): Promise<Buffer> {
  const path = join(folder, 'image');
  await writeFile(path, '');
  await run('truncate', ['--size', String(sizeMib * mib), path]);
  await run('sfdisk', ['--quiet', path], { input: script });
  if (ext) await run('mkfs.ext4', ['-q', '-F', '-E', `offset=${21 * mib}`, path, `${ext.mib}M`]);
  return readFile(path);
}

/** Attempts to write an image over a disk that has a file system. */
async function attempt(
  image: Buffer,
  disk: { readonly mib: number; readonly sectorBytes?: 512 | 4096; readonly use?: TableUse },
  then: (device: BlockDevice) => Promise<void> = () => Promise.resolve(),
): Promise<{ readonly said: string; readonly isUntouched: boolean }> {
  return withLoopDevice(
    join(folder, 'disk'),
    disk.mib * mib,
    async (name) => {
      await run('mkfs.ext4', ['-q', '-L', 'precious', name]);
      const before = await digestOf(name);
      const [device] = await runLsblk(run, [name]);
      if (device === undefined) throw new Error(`no device ${name}`);
      await using server = await serveImage(image);
      const checksum = { algorithm: 'sha256' as const, hex: createHash('sha256').update(image).digest('hex') };
      const info = { id: 'disk.img', urls: [server.url] };
      const said = await writeWholeDisk(context, device, info, checksum, { maxTries: 1 }, disk.use)
        .then(() => then(device))
        .then(() => 'written', errorChain);
      return { said, isUntouched: (await digestOf(name)) === before };
    },
    disk.sectorBytes,
  );
}

/** Computes the digest of both ends, which a write begins and ends with. */
async function digestOf(device: string): Promise<string> {
  const script = `head --bytes=4M ${device}; tail --bytes=1M ${device}`;
  return (await run('sh', ['-c', `(${script}) | sha256sum`])).stdout;
}

async function readSector(device: string): Promise<Buffer> {
  const handle = await open(device, 'r');
  try {
    return (await handle.read(Buffer.alloc(512), 0, 512, 0)).buffer;
  } finally {
    await handle.close();
  }
}

const boardTable = 'label: dos\nstart=2048, size=40960, type=ef\nstart=43008, size=88064, type=83\n';

test.each([
  ['plain', (image: Buffer) => image],
  ['packed', (image: Buffer) => zstdCompressSync(image)],
])('an MBR for 512 bytes is refused on a disk of 4096: %s', async (_how, pack) => {
  const image = await makeImage(64, boardTable, { mib: 43 });
  const { said, isUntouched } = await attempt(pack(image), { mib: 700, sectorBytes: 4096 });
  expect(said).toMatch(/the image's MBR is for other sectors than the 4096 bytes of disk/);
  expect(isUntouched).toBe(true);
});

test.each([
  ['an MBR', boardTable],
  ['a GPT', 'label: gpt\nstart=2048, size=40960\nstart=43008, size=86016\n'],
])('a partition behind the end of the disk is refused: %s', async (_what, table) => {
  const image = (await makeImage(64, table)).subarray(0, 40 * mib);
  const { said, isUntouched } = await attempt(image, { mib: 48 });
  expect(said).toMatch(/partition 2 of the image ends at byte 6\d{7}, behind the end of disk .* \(50331648 bytes/);
  expect(isUntouched).toBe(true);
});

test.each([
  ['four partitions', 'label: dos\nsize=8M\nsize=8M\nsize=8M\nsize=8M\n', 200, 'all four slots of its MBR are taken'],
  ['a disk that is full', 'label: gpt\nsize=62M\n', 64, 'its partitions end at byte 66060288 of 67108864'],
])('a config drive without room is refused: %s', async (_what, table, diskMib, obstacle) => {
  const image = await makeImage(64, table);
  const { said, isUntouched } = await attempt(image, { mib: diskMib, use: { drive } });
  expect(said).toContain(obstacle);
  expect(isUntouched).toBe(true);
});

test('the first sector of a GPT image stays but for the size of the protective entry, also with a config drive', async () => {
  const image = await makeImage(64, 'label: gpt\nsize=20M, type=uefi\nsize=30M\n');
  image.writeUInt8(0x80, 446); // active
  image.write('boot code', 0);
  image.writeUInt32LE(0x1234, 440);
  const { said } = await attempt(image, { mib: 300, use: { drive } }, async (device) => {
    const written = await readSector(device.name);
    await writeConfigDrive(context, device.name, drive);
    for (const sector of [written, await readSector(device.name)]) {
      expect(sector.readUInt32LE(458)).toBe(300 * 2048 - 1);
      image.copy(sector, 458, 458, 462);
      expect(sector.equals(image.subarray(0, 512))).toBe(true);
    }
    expect((await run('sgdisk', ['--verify', device.name])).stdout).toContain('No problems found');
  });
  expect(said).toBe('written');
});

test('an MBR stays but for the entry of the config drive: no boot code and no identifier where there was none', async () => {
  const image = await makeImage(64, 'label: dos\nsize=20M, bootable\n');
  image.fill(0, 0, 446);
  const { said } = await attempt(image, { mib: 200 }, async (device) => {
    await writeConfigDrive(context, device.name, drive);
    const sector = await readSector(device.name);
    const entry = sector.subarray(462, 478);
    expect([entry.readUInt8(4), entry.readUInt32LE(8), entry.readUInt32LE(12)]).toEqual([0x0c, 136 * 2048, 64 * 2048]);
    entry.fill(0);
    expect(sector.equals(image.subarray(0, 512))).toBe(true);
    const [, added] = await probePartitions(run, device.name);
    expect(added).toMatchObject({ number: 2, sizeBytes: 64 * mib, fsLabel: 'config-2' });
  });
  expect(said).toBe('written');
});

test('a full GPT of four entries grows for the config drive', async () => {
  const sizes = 'start=2048, size=8M\n'.concat('size=8M\n'.repeat(3));
  const image = await makeImage(64, `label: gpt\ntable-length: 4\n${sizes}`);
  image.writeUInt8(0x80, 446); // active, which sgdisk takes away when a table grows
  const { said } = await attempt(image, { mib: 200, use: { drive } }, async (device) => {
    await writeConfigDrive(context, device.name, drive);
    expect((await readSector(device.name)).readUInt8(446)).toBe(0x80);
    expect((await probePartitions(run, device.name)).map(({ partLabel }) => partLabel)[4]).toBe('config-2');
    expect((await run('sgdisk', ['--verify', device.name])).stdout).toContain('No problems found');
  });
  expect(said).toBe('written');
});

test('without an EFI system partition an image for UEFI is refused', async () => {
  const image = await makeImage(64, 'label: gpt\nsize=20M\n');
  const { said, isUntouched } = await attempt(image, { mib: 100, use: { bootMode: 'uefi' } });
  expect(said).toMatch(/no EFI system partition, and the machine boots by UEFI/);
  expect(isUntouched).toBe(true);
});
