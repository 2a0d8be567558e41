import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildContext } from '#image-build/build-context.ts';

/**
 * Packages are only unpacked, so no script of theirs has run: makes the module index that the kernel's would have
 * made, and returns `name=version` of all packages, by the names of their files.
 */
export async function finishTree(context: BuildContext, tree: string): Promise<readonly string[]> {
  for (const kernel of await readdir(join(tree, 'usr/lib/modules'))) {
    await context.run('depmod', ['--basedir', tree, kernel]);
  }
  const archives = join(tree, 'var/cache/apt/archives');
  const packages = (await readdir(archives)).flatMap((file) => parsePackageFile(file) ?? []);
  await rm(archives, { recursive: true });
  return packages;
}

/** `mdadm_1%3a4.2-5_amd64.deb` → `mdadm=1:4.2-5`; apt writes a colon as `%3a`. */
export function parsePackageFile(file: string): string | undefined {
  const [, name, version] = /^([^_]+)_([^_]+)_[^_]+\.deb$/.exec(file) ?? [];
  return name && version ? `${name}=${decodeURIComponent(version)}` : undefined;
}
