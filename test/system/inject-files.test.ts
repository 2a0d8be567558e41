import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findRootFileSystem, withDeployedSystem } from '#agent/boot/deployed-system.ts';
import type { AgentContext } from '#agent/context.ts';
import { injectFilesStep } from '#agent/steps/inject-files.ts';
import { mountHarmless, withMounted } from '#agent/storage/file-systems/mount.ts';
import { blkidProperty, runBlkid } from '#agent/storage/partition-table.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { parseStepArgs } from '#shared/steps/define-step.ts';
import { makeBtrfs } from '#test/support/btrfs-subvolume.ts';
import { withLoopDevice } from '#test/support/loop-device.ts';

/** inject_files into real file systems on a loop device; needs root. */

const mib = 1024 * 1024;
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-inject-'));
  await mkdir(join(folder, 'boot/loader'), { recursive: true });
  await mkdir(join(folder, 'root/etc/old'), { recursive: true });
  await mkdir(join(folder, 'root/usr/local/etc'), { recursive: true });
  await writeFile(join(folder, 'root/etc/old/file'), 'old');
  await symlink('/usr/local/etc', join(folder, 'root/etc/local'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Partition 1 without a file system, 2 with /loader, 3 with /etc. */
function withImage(use: (device: string) => Promise<void>): Promise<void> {
  return withLoopDevice(join(folder, 'disk'), 64 * mib, async (device) => {
    const sizes = ['--new', '1:2048:+1M', '--new', '2:0:+16M', '--new', '3:0:0', '--change-name', '3:root'];
    await run('sgdisk', [...sizes, device]);
    await run('partprobe', [device], { okExitCodes: [0, 1] });
    await run('mkfs.ext4', ['-q', '-F', '-d', join(folder, 'boot'), `${device}p2`]);
    await run('mkfs.ext4', ['-q', '-F', '-L', 'slash', '-d', join(folder, 'root'), `${device}p3`]);
    await use(device);
  });
}

async function inject(device: string, files: readonly object[]): Promise<unknown> {
  const context: AgentContext = {
    run,
    clock: systemClock,
    log: silentLog,
    signal: new AbortController().signal,
    node: { uuid: 'n', properties: {}, instance_info: {}, driver_internal_info: {} },
    reportProgress: () => undefined,
    writtenImage: { current: { imageId: 'i', checksum: 'c', device, rootUuid: null, headSha256: 'h' } },
  };
  return injectFilesStep.run(context, parseStepArgs(injectFilesStep, { files }));
}

const content = Buffer.from('hello\n').toString('base64');

test('finds the partition by the first folder, by number, label and device', () =>
  withImage(async (device) => {
    const outcome = await inject(device, [
      { path: '/etc/local/a', content, mode: '0640', owner: 7, group: 8 },
      { path: '/b', content, partition: 'root' },
      { path: '/c', content, partition: 'slash' },
      { path: '/loader/d', content },
      { path: '/e', content, partition: 2 },
      { path: '/f', content, partition: `${device}p3` },
      { path: '/etc/old/file', deleted: true },
    ]);
    expect(outcome).toMatchObject({
      output: {
        files: [
          { device: `${device}p3`, done: 'written', bytes: 6 },
          {},
          {},
          { device: `${device}p2` },
          {},
          {},
          { done: 'removed' },
        ],
      },
    });
    await withMounted(run, `${device}p3`, mountHarmless('ro'), async (root) => {
      for (const name of ['usr/local/etc/a', 'b', 'c', 'f']) {
        expect(await readFile(join(root, name), 'utf8')).toBe('hello\n');
      }
      expect(await stat(join(root, 'usr/local/etc/a'))).toMatchObject({ uid: 7, gid: 8, mode: 0o100640 });
      await expect(stat(join(root, 'etc/old/file'))).rejects.toMatchObject({ code: 'ENOENT' });
    });
    await withMounted(run, `${device}p2`, mountHarmless('ro'), async (root) => {
      expect(await readFile(join(root, 'loader/d'), 'utf8')).toBe('hello\n');
    });
  }));

describe('a btrfs whose root is a subvolume that Linux does not mount by itself', () => {
  const tree = (): string => join(folder, 'system');
  beforeAll(async () => {
    await mkdir(join(tree(), 'etc'), { recursive: true });
    await writeFile(join(tree(), 'etc/os-release'), 'ID=test');
  });
  const withBtrfs = (subvolumes: readonly string[], use: (device: string) => Promise<void>): Promise<void> =>
    withLoopDevice(join(folder, 'disk'), 160 * mib, async (device) => {
      await makeBtrfs(device, tree(), { subvolumes, byDefault: null });
      await use(device);
    });

  test('gets its files in there, and is found', () =>
    withBtrfs(['@rootfs'], async (device) => {
      const named = { path: '/b', content, partition: device };
      expect(await inject(device, [{ path: '/etc/a', content }, named])).toMatchObject({ output: { files: [{}, {}] } });
      await withMounted(run, device, mountHarmless('ro'), async (root) => {
        for (const path of ['@rootfs/etc/a', '@rootfs/b']) {
          expect(await readFile(join(root, path), 'utf8')).toBe('hello\n');
        }
      });
      const partition = { name: device, number: 1, sizeBytes: 1, fsLabel: null, partLabel: null, partType: null };
      const probed = { ...partition, fsType: 'btrfs', fsUuid: 'u' };
      for (const uuid of ['u', undefined]) {
        const found = await findRootFileSystem(run, [probed], uuid);
        expect(found).toEqual({ ...probed, subvolume: '/@rootfs' });
        const options = { root: found, espDevice: undefined, devices: [] };
        await withDeployedSystem(run, options, async ({ root }) => {
          expect(await readFile(join(root, 'etc/os-release'), 'utf8')).toBe('ID=test');
        });
      }
    }));

  test('gets nothing where two may be the root', () =>
    withBtrfs(['one', 'two'], async (device) => {
      const reason = 'is the root is not known: one, two hold Linux systems';
      await expect(inject(device, [{ path: '/etc/a', content }])).rejects.toMatchObject({
        code: 'conflict',
        cause: { message: expect.stringContaining(reason) },
      });
    }));
});

describe("a folder that the image's /etc/fstab mounts something else on", () => {
  /** Partition 1 with a btrfs of `@` and `@home`, partition 2 with /boot, 3 that is mounted by its GPT's names. */
  const withMounts = (fstab: (of: (name: string) => Promise<string>) => Promise<string>, use: Use): Promise<void> =>
    withLoopDevice(join(folder, 'disk'), 260 * mib, async (device) => {
      const sizes = ['--new', '1:2048:+160M', '--new', '2:0:+32M', '--new', '3:0:+32M', '--change-name', '3:data'];
      const twice = ['--new', '4:0:+8M', '--change-name', '4:twice', '--new', '5:0:+8M', '--change-name', '5:twice'];
      await run('sgdisk', [...sizes, ...twice, device]);
      await run('partprobe', [device], { okExitCodes: [0, 1] });
      await run('mkfs.ext4', ['-q', '-F', '-L', 'BOOT', '-U', uuids.boot, `${device}p2`]);
      await run('mkfs.ext4', ['-q', '-F', `${device}p3`]);
      const tree = join(folder, 'mounts');
      await rm(tree, { recursive: true, force: true });
      for (const name of ['boot', 'home', 'srv', 'mnt', 'data'])
        await mkdir(join(tree, 'at', name), { recursive: true });
      await mkdir(join(tree, 'at/etc'), { recursive: true });
      await symlink('/srv/link', join(tree, 'at/etc/linked'));
      const partUuid = async (name: string): Promise<string> =>
        blkidProperty(await runBlkid(run, `${device}${name}`), 'PART_ENTRY_UUID') ?? '';
      await writeFile(join(tree, 'at/etc/os-release'), 'ID=test');
      await writeFile(join(tree, 'at/etc/fstab'), await fstab(partUuid));
      await makeBtrfs(`${device}p1`, join(tree, 'at'), { uuid: uuids.root, subvolumes: ['@'], byDefault: null });
      await withMounted(run, `${device}p1`, mountHarmless('rw', '/'), (top) =>
        run('btrfs', ['subvolume', 'create', join(top, '@home')]),
      );
      await use(device);
    });
  type Use = (device: string) => Promise<void>;
  const uuids = { root: 'b2a70000-0000-4000-8000-0000000000d1', boot: 'b2a70000-0000-4000-8000-0000000000d2' };
  const lines = async (partUuid: (name: string) => Promise<string>): Promise<string> =>
    [
      `UUID=${uuids.root} / btrfs defaults,subvol=@ 0 0`,
      `UUID=${uuids.root.toUpperCase()} /home btrfs defaults,subvol=/@home 0 0`,
      'LABEL=BOOT /boot ext4 defaults 0 2',
      `PARTUUID=${await partUuid('p3')} /srv ext4 defaults 0 2`,
      '/dev/disk/by-partlabel/data /data ext4 defaults 0 2',
      '/srv/share /mnt none bind 0 0',
      '',
    ].join('\n');
  const read = (device: string, subvolume: string | undefined, path: string): Promise<string> =>
    withMounted(run, device, mountHarmless('ro', subvolume), (root) => readFile(join(root, path), 'utf8'));

  test('gets its files where the system will see them', () =>
    withMounts(lines, async (device) => {
      const paths = ['/etc/a', '/home/user/a', '/boot/a', '/srv/b', '/data/c', '/mnt/d', '/etc/linked/e'];
      await inject(
        device,
        paths.map((path) => ({ path, content })),
      );
      const places = [
        ['p1', '/@', 'etc/a'],
        ['p1', '/@home', 'user/a'],
        ['p2', undefined, 'a'],
        ['p3', undefined, 'b'],
        ['p3', undefined, 'c'],
        ['p3', undefined, 'share/d'],
        ['p3', undefined, 'link/e'],
      ] as const;
      for (const [partition, subvolume, path] of places) {
        expect(await read(`${device}${partition}`, subvolume, path)).toBe('hello\n');
      }
      await inject(device, [{ path: '/home/user/a', deleted: true }]);
      await expect(read(`${device}p1`, '/@home', 'user/a')).rejects.toMatchObject({ code: 'ENOENT' });
    }));

  test('of a partition that was named: what is mounted of another file system does not count', () =>
    withMounts(lines, async (device) => {
      await inject(device, [
        { path: '/home/a', content, partition: 1 },
        { path: '/boot/b', content, partition: 1 },
      ]);
      expect(await read(`${device}p1`, '/@home', 'a')).toBe('hello\n');
      expect(await read(`${device}p1`, '/@', 'boot/b')).toBe('hello\n');
    }));

  test.each([
    ['another machine', 'host:/export /home nfs defaults', 'host:/export'],
    ['a name that says nothing of the written disk', '/dev/sdb1 /home ext4 defaults', '/dev/sdb1'],
    ['no partition there is', 'UUID=b2a70000-0000-4000-8000-00000000dead /home ext4', 'UUID=b2a7'],
    ['one of two partitions of that name', 'PARTLABEL=twice /home ext4', 'PARTLABEL=twice'],
    ['two subvolumes', `UUID=${uuids.root} /home btrfs subvol=@home,subvol=@old`, 'UUID=b2a7'],
    ['a subvolume by number', `UUID=${uuids.root} /home btrfs subvolid=999`, 'UUID=b2a7'],
  ])('is refused in words: %s', (_what, line, source) =>
    withMounts(
      () => Promise.resolve(`UUID=${uuids.root} / btrfs subvol=@\n${line}\n`),
      async (device) => {
        await expect(inject(device, [{ path: '/home/a', content }])).rejects.toMatchObject({
          code: 'not_supported',
          cause: { message: expect.stringContaining(`/etc/fstab mounts ${source}`) },
        });
        await expect(read(`${device}p1`, '/@', 'home/a')).rejects.toMatchObject({ code: 'ENOENT' });
      },
    ),
  );

  test('is refused where mounts lead in a circle', () =>
    withMounts(
      () => Promise.resolve(`UUID=${uuids.root} / btrfs subvol=@\n/srv /home none bind\n/home /srv none bind\n`),
      async (device) => {
        await expect(inject(device, [{ path: '/home/a', content }])).rejects.toMatchObject({
          cause: { message: expect.stringContaining('lead in a circle') },
        });
      },
    ));
});

test('a folder that no partition has, and nothing stays mounted', () =>
  withImage(async (device) => {
    await expect(inject(device, [{ path: '/srv/x', content }])).rejects.toMatchObject({
      message: 'inject /srv/x',
      code: 'not_found',
      cause: { message: expect.stringMatching(/has a folder \/srv: .*p1 \(no file system\), .*p2, .*p3/) },
    });
    const mounts = await readFile('/proc/mounts', 'utf8');
    // /dev/loop10 of another test is not /dev/loop1
    const own = mounts.split('\n').filter((line) => new RegExp(`^${device}(p\\d+)? `).test(line));
    expect(own).toEqual([]);
  }));
