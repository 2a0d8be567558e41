import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { BuildContext } from '#image-build/build-context.ts';
import { debianSources } from '#image-build/debian-sources.ts';
import { fileDigest, hashOf } from '#image-build/hash.ts';
import { paths } from '#image-build/paths.ts';
import { readIfPresent } from '#image-build/read-if-present.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface PackageTreeRecipe {
  /** Names the tree in the cache and in messages. */
  readonly name: string;
  readonly suite: string;
  /** Take the host's mirrors although they are listed for this suite of its own; default: only those for `suite`. */
  readonly hostSuite?: string;
  readonly packages: readonly string[];
  /** mmdebstrap's options beside the packages. */
  readonly options: readonly string[];
  /** `tree`: a directory to pick from; `tar`: an archive that keeps owners, to unpack and change. */
  readonly format: 'tree' | 'tar';
  /** Called with the new tree before it counts as complete; returns `name=version` of the packages in it. */
  readonly finish: (context: BuildContext, path: string) => Promise<readonly string[]>;
  /** The file that `finish` is in: another one makes another tree. */
  readonly finishFile: string;
}

export interface PackageTree {
  readonly path: string;
  /** `name=version`, sorted. */
  readonly packages: readonly string[];
}

/**
 * Debian packages unpacked by mmdebstrap, from `build/cache` when a tree of this recipe is there. The cache keeps the
 * versions that the mirror had when it was made: the same tree gives the same image.
 * @throws AppError `command_failed` when mmdebstrap fails
 */
export async function packageTree(context: BuildContext, recipe: PackageTreeRecipe): Promise<PackageTree> {
  const { name, suite, packages, options, format } = recipe;
  // its file, since a function's own text differs between Node and vitest, which would each remove the other's tree
  const finish = (await fileDigest(recipe.finishFile)).sha256;
  const key = hashOf({ suite, packages, options, format, finish }).slice(0, 16);
  const directory = join(paths.cache, `${name}-packages-${key}`);
  const path = join(directory, format === 'tar' ? 'tree.tar' : 'tree');
  const list = join(directory, 'packages.json');
  if (!context.refresh) {
    const cached = await readIfPresent(list);
    if (cached !== undefined) return { path, packages: z.array(z.string()).parse(JSON.parse(cached)) };
  }
  context.say(`${name}: fetching and unpacking ${packages.length} Debian packages and what they need`);
  await mkdir(paths.cache, { recursive: true });
  // trees of earlier recipes too: each is some hundred megabytes
  const old = (await readdir(paths.cache)).filter((entry) => entry.startsWith(`${name}-packages-`));
  for (const entry of old) await rm(join(paths.cache, entry), { recursive: true });
  await mkdir(directory, { recursive: true });
  const mirrors = await debianSources(suite, recipe.hostSuite === undefined ? {} : { hostSuite: recipe.hostSuite });
  await context.run('mmdebstrap', ['--quiet', `--include=${packages.join(',')}`, ...options, suite, path, ...mirrors], {
    timeoutMs: 15 * 60_000,
  });
  const versions = [...(await recipe.finish(context, path))].sort();
  if (versions.length === 0) {
    throw new AppError('internal', `list the packages that mmdebstrap unpacked for ${name}: none found`);
  }
  // written last: its presence says that the tree is whole
  await writeFile(`${list}.new`, JSON.stringify(versions, null, 1));
  await rename(`${list}.new`, list);
  return { path, packages: versions };
}
