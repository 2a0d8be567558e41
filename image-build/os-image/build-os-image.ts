import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type BuildContext, paths } from '#image-build/build-context.ts';
import { fileDigest, fileHash, hashOf, sourceHash } from '#image-build/files.ts';
import { hostPackageVersions } from '#image-build/host-packages.ts';
import { isCurrent, writeManifest } from '#image-build/manifest.ts';
import { installBootLoaders } from '#image-build/os-image/boot-loaders.ts';
import { listInstalled } from '#image-build/os-image/list-installed.ts';
import {
  makeRootFileSystem,
  makeVariants,
  planPartitions,
  sgdiskArguments,
  variantNames,
} from '#image-build/os-image/partitions.ts';
import { diskSize, mmdebstrapOptions, packages, suite } from '#image-build/os-image/recipe.ts';
import { makeRootTree } from '#image-build/os-image/root-tree.ts';
import { packageTree } from '#image-build/package-tree.ts';

export interface OsImageOptions {
  /** Where the outputs go; default `build/os-image`. */
  readonly output?: string;
  readonly variant?: ImageVariant;
}

/** The demo system with something more, for a test; without the other forms of the image. */
export interface ImageVariant {
  /** Names its package tree in the cache. */
  readonly name: string;
  readonly packages: readonly string[];
  /** Paths in the root tree that it does without. */
  readonly without: readonly string[];
}

/**
 * Makes `demo.raw` (sparse), `demo.raw.zst` and `manifest.json`: a Debian that boots under BIOS and UEFI; and the same
 * as `demo.qcow2`, and its root file system alone as `demo-root.qcow2`.
 */
export async function buildOsImage(context: BuildContext, options: OsImageOptions = {}): Promise<void> {
  const { output = paths.osImage, variant } = options;
  const tree = await packageTree(context, {
    name: variant ? `${variant.name}-image` : 'os-image',
    suite,
    packages: [...packages, ...(variant?.packages ?? [])],
    options: mmdebstrapOptions,
    format: 'tar',
    finish: listInstalled,
    finishFile: join(import.meta.dirname, 'list-installed.ts'),
  });
  const inputs = {
    recipe_sha256: await sourceHash(join(import.meta.dirname, '..'), /^ramdisk\//),
    packages: [...tree.packages],
    host_packages: await hostPackageVersions(context.run),
    ...(variant ? { without: variant.without } : {}),
  };
  const inputHash = hashOf(inputs);
  if (!context.force && (await isCurrent(output, [inputHash]))) {
    context.say(`os image: ${output} is up to date`);
    return;
  }
  await mkdir(output, { recursive: true });
  await rm(join(output, 'manifest.json'), { force: true });
  const image = join(output, 'demo.raw');
  const layout = planPartitions(diskSize);
  await makeDisk(context, tree.path, `${image}.new`, layout, variant?.without);
  await rename(`${image}.new`, image);
  context.say('os image: compressing');
  await context.run('zstd', ['-9', '-T2', '--force', '--quiet', image, '-o', `${image}.zst`], { timeoutMs: 600_000 });
  if (!variant) await makeVariants(context, output, image, layout);
  const [raw, compressed] = await Promise.all([describe(output, 'demo.raw'), describe(output, 'demo.raw.zst')]);
  const variants = await Promise.all((variant ? [] : variantNames).map((name) => describe(output, name)));
  await writeManifest(output, {
    input_hash: inputHash,
    inputs,
    outputs: [raw, { ...compressed, unpacked_size: raw.size }, ...variants],
    partitions: [layout.biosBoot, layout.efiSystem, layout.root],
  });
  context.say(`os image: ${output}: ${Math.round(raw.size / 1e6)} MB, zstd ${Math.round(compressed.size / 1e6)} MB`);
}

async function makeDisk(
  context: BuildContext,
  archive: string,
  image: string,
  layout: ReturnType<typeof planPartitions>,
  without: readonly string[] = [],
): Promise<void> {
  const root = join(paths.cache, 'os-image-root');
  context.say('os image: making the root tree');
  await makeRootTree(context, archive, root);
  for (const path of without) await rm(join(root, path));
  context.say('os image: writing partitions, boot loaders, root file system');
  await rm(image, { force: true });
  const file = await open(image, 'w');
  await file.truncate(diskSize);
  await file.close();
  await context.run('sgdisk', sgdiskArguments(layout, image));
  await installBootLoaders(context, root, image, layout);
  await makeRootFileSystem(context, root, image, layout.root);
  await rm(root, { recursive: true });
}

async function describe(
  output: string,
  name: string,
): Promise<{ name: string; size: number; sha256: string; sha512: string }> {
  const path = join(output, name);
  return { name, ...(await fileDigest(path)), sha512: await fileHash(path, 'sha512') };
}
