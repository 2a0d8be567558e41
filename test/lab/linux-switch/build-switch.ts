import { chmod, copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { paths } from '#image-build/build-context.ts';
import { hashOf, readIfPresent, sourceHash } from '#image-build/files.ts';
import { kernelOf, ramdiskPackages } from '#image-build/ramdisk/build-ramdisk.ts';
import { packLayer } from '#image-build/ramdisk/cpio-archive.ts';
import { libraryClosure } from '#image-build/ramdisk/library-closure.ts';
import { selectModules } from '#image-build/ramdisk/select-modules.ts';
import { run } from '#shared/process/run.ts';

const programs = ['usr/bin/busybox', 'usr/bin/dropbearkey', 'usr/bin/ip', 'usr/sbin/bridge', 'usr/sbin/dropbear'];
const linker = ['usr/lib64/ld-linux-x86-64.so.2', 'usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2'];
const modules = [
  'crypto/crc32c_generic.ko',
  'drivers/block/virtio_blk.ko',
  'drivers/net/bonding',
  'drivers/net/veth.ko',
  'drivers/net/virtio_net.ko',
  'drivers/virtio/virtio_pci.ko',
  'fs/ext4/ext4.ko',
  'net/8021q/8021q.ko',
  'net/bridge/bridge.ko',
];

export interface SwitchSystem {
  readonly kernel: string;
  readonly initrd: string;
}

/**
 * Debian's kernel with bridges and bonds, its iproute2, an SSH server and busybox, from the packages of the ramdisk: some
 * megabytes. Made in seconds, and again when it has changed.
 */
export async function buildSwitch(say: (line: string) => void): Promise<SwitchSystem> {
  const context = { run, say, force: false, refresh: false };
  const { path: tree, packages } = await ramdiskPackages(context);
  const kernel = await kernelOf(tree);
  const system = {
    kernel: join(tree, 'boot', `vmlinuz-${kernel}`),
    initrd: join(paths.cache, 'linux-switch.cpio.zst'),
  };
  const note = `${system.initrd}.key`;
  const key = hashOf({ packages, recipe: await sourceHash(import.meta.dirname, /^(?!init$|build-switch)/) });
  if ((await readIfPresent(note)) === key) return system;
  say('linux switch: making its initrd');
  const stage = join(paths.cache, `linux-switch-${process.pid}`);
  await mkdir(stage);
  for (const folder of ['dev', 'etc', 'proc', 'sys', 'root', 'run', 'tmp', 'usr/sbin', 'usr/lib64', 'var']) {
    await mkdir(join(stage, folder), { recursive: true });
  }
  for (const folder of ['bin', 'sbin', 'lib', 'lib64']) await symlink(`usr/${folder}`, join(stage, folder));
  await symlink('../run', join(stage, 'var/run'));
  const libraries = await libraryClosure(
    run,
    tree,
    programs.map((program) => join(tree, program)),
  );
  const folder = `usr/lib/modules/${kernel}`;
  const text = (name: string): Promise<string> => readFile(join(tree, folder, name), 'utf8');
  const selection = { paths: modules, exceptions: [] };
  const chosen = selectModules(await text('modules.dep'), await text('modules.softdep'), selection);
  const files = [...chosen, 'modules.builtin', 'modules.builtin.modinfo', 'modules.order'];
  const names = [...programs, ...linker, ...libraries, ...files.map((file) => join(folder, file))];
  await run('cp', ['--no-dereference', '--parents', '--preserve=mode', ...new Set(names), stage], { cwd: tree });
  // busybox's own shell would take its applet for ip
  await copyFile('/usr/bin/dash', join(stage, 'usr/bin/sh'));
  await run('depmod', ['--basedir', stage, kernel]);
  await copyFile(join(import.meta.dirname, 'init'), join(stage, 'init'));
  await chmod(join(stage, 'init'), 0o755);
  await mkdir(dirname(system.initrd), { recursive: true });
  await packLayer(context, stage, `${system.initrd}.${process.pid}`, 'quick');
  await run('mv', [`${system.initrd}.${process.pid}`, system.initrd]);
  await run('rm', ['--recursive', stage]);
  await writeFile(note, key);
  return system;
}
