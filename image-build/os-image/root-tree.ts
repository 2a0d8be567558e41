import { chmod, cp, lstat, lutimes, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildContext } from '#image-build/build-context.ts';
import { disabledGenerators, disabledUnits, enabledServices, imageDate } from '#image-build/os-image/recipe.ts';

/** Left by the package tools; a machine makes its own. */
const leftovers = [
  'dev',
  'etc/.pwd.lock',
  'etc/apt/apt.conf.d/99mmdebstrap',
  'etc/resolv.conf',
  'run',
  'tmp',
  'var/cache/apt',
  'var/cache/debconf',
  'var/cache/ldconfig',
  'var/lib/apt/lists',
  'var/lib/systemd/catalog',
  'var/log',
];

/** Folders that must be there although they are empty, with their modes. */
const emptyFolders: ReadonlyArray<readonly [path: string, mode: number]> = [
  ['dev', 0o755],
  ['run', 0o755],
  ['tmp', 0o1777],
  ['var/cache/apt/archives/partial', 0o755],
  ['var/lib/apt/lists/partial', 0o755],
  ['var/log/journal', 0o755],
];

/** Unpacks the package tree into `root` and makes it the demo system: our files, services, no host's traces. */
export async function makeRootTree(context: BuildContext, archive: string, root: string): Promise<void> {
  await rm(root, { recursive: true, force: true });
  const started = Date.now();
  await mkdir(root, { recursive: true });
  await context.run('tar', ['--extract', '--numeric-owner', '--file', archive, '--directory', root], {
    timeoutMs: 300_000,
  });
  await cp(join(import.meta.dirname, 'overlay'), root, { recursive: true });
  // before the tree's /dev goes
  await context.run('chroot', [root, 'update-initramfs', '-u'], {
    env: { SOURCE_DATE_EPOCH: String(imageDate) },
    timeoutMs: 600_000,
  });
  for (const path of leftovers) await rm(join(root, path), { recursive: true, force: true });
  for (const [path, mode] of emptyFolders) {
    await mkdir(join(root, path), { recursive: true });
    await chmod(join(root, path), mode);
  }
  // empty, not missing: systemd fills it in at each first boot without taking that for the first boot of a new system
  await writeFile(join(root, 'etc/machine-id'), '');
  await rm(join(root, 'var/lib/dbus/machine-id'), { force: true });
  await symlink('../run/systemd/resolve/stub-resolv.conf', join(root, 'etc/resolv.conf'));
  await context.run('chroot', [root, 'systemctl', '--quiet', 'enable', ...enabledServices]);
  await context.run('chroot', [root, 'systemctl', '--quiet', 'mask', ...disabledUnits]);
  await context.run('chroot', [root, 'systemctl', '--quiet', 'add-wants', 'multi-user.target', 'cloud-init.target']);
  const generators = join(root, 'etc/systemd/system-generators');
  await mkdir(generators, { recursive: true });
  for (const name of disabledGenerators) await symlink('/dev/null', join(generators, name));
  await dateNewFiles(root, started);
}

/**
 * Gives one date to what this build has made or changed; the files of packages keep theirs, which .pyc files repeat.
 */
async function dateNewFiles(root: string, since: number): Promise<void> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  for (const path of [root, ...entries.map((entry) => join(entry.parentPath, entry.name))]) {
    if ((await lstat(path)).mtimeMs >= since) await lutimes(path, imageDate, imageDate);
  }
}
