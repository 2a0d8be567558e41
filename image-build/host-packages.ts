import type { Run } from '#shared/process/run.ts';

/** Debian packages that the machine building the images needs, besides what every Debian has; the lab installs them. */
export const imageBuildPackages = [
  'binutils', // readelf, strip
  'cpio',
  'debian-archive-keyring',
  'e2fsprogs',
  'gdisk',
  'kmod', // depmod
  'mmdebstrap',
  'mtools',
  'qemu-utils', // qemu-img
  'tar',
  'xorriso',
  'zstd',
];

/**
 * `name=version` of them on this machine, sorted: another zstd or strip makes other bytes.
 * @throws AppError `command_failed` naming those that are not installed
 */
export async function hostPackageVersions(run: Run): Promise<string[]> {
  const { stdout } = await run('dpkg-query', [
    '--show',
    '--showformat=${Package}=${Version}\\n',
    ...imageBuildPackages,
  ]);
  return stdout.split('\n').filter(Boolean).sort();
}
