import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { type BuildContext, paths } from '#image-build/build-context.ts';
import { fileDigest, hashOf, readIfPresent, sourceHash } from '#image-build/files.ts';
import { hostPackageVersions } from '#image-build/host-packages.ts';
import { isCurrent, type ManifestInputs, writeManifest } from '#image-build/manifest.ts';
import { type PackageTree, packageTree } from '#image-build/package-tree.ts';
import { type AgentBundle, bundleAgent, listCustomManagers } from '#image-build/ramdisk/agent-bundle.ts';
import { makeBootMedium } from '#image-build/ramdisk/boot-medium.ts';
import { type Compression, type Layer, packLayer } from '#image-build/ramdisk/cpio-archive.ts';
import { finishTree } from '#image-build/ramdisk/finish-tree.ts';
import { licensesText } from '#image-build/ramdisk/licenses.ts';
import { extraDirectories, suite, packages as wanted } from '#image-build/ramdisk/recipe.ts';
import { type Signer, signerHash } from '#image-build/ramdisk/sign-program.ts';
import { checkScripts, extraHash, stageAgent } from '#image-build/ramdisk/stage-agent.ts';
import { stageBase } from '#image-build/ramdisk/stage-base.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Note on the cached base layer. */
const BaseNote = z.object({ key: z.string().default(''), unpackedSize: z.number().default(0) });

export interface RamdiskOptions {
  /** The agent's entry module; default `agent/main.ts`. */
  readonly agentEntry?: string;
  /** Where the outputs go; default `build/ramdisk`. */
  readonly output?: string;
  /** Directories with hardware managers and script steps, beside the recipe's (`docs/custom-steps.md`). */
  readonly extra?: readonly string[];
  /** Default `small`. With `quick` a current `small` one is left as it is. */
  readonly compression?: Compression;
  /** Adds a signature for Secure Boot by keys of one's own; default: those that Debian's shim has. */
  readonly signer?: Signer;
}

/**
 * Makes `vmlinuz`, `initrd.img`, the boot medium, `licenses.txt` and `manifest.json`. The initrd is two archives one after the other: the base (tools,
 * Node, modules), cached, and the agent with the scripts that start it, made each time.
 */
export async function buildRamdisk(context: BuildContext, options: RamdiskOptions = {}): Promise<void> {
  const output = options.output ?? paths.ramdisk;
  const tree = await ramdiskPackages(context);
  const extra = [...extraDirectories, ...(options.extra ?? [])];
  const agent = await bundleAgent(options.agentEntry ?? paths.agentEntry, await listCustomManagers(extra));
  await checkScripts(context, extra);
  const { signer } = options;
  const inputs = {
    ...(await collectInputs(context, tree, agent)),
    extra_sha256: await extraHash(extra),
    ...(signer ? { signer: await signerHash(signer) } : {}),
  };
  const compression = options.compression ?? 'small';
  const inputHash = hashOf({ ...inputs, compression });
  const enough = compression === 'small' ? [inputHash] : [inputHash, hashOf({ ...inputs, compression: 'small' })];
  if (!context.force && (await isCurrent(output, enough))) {
    context.say(`ramdisk: ${output} is up to date`);
    return;
  }
  await mkdir(output, { recursive: true });
  await rm(join(output, 'manifest.json'), { force: true });
  const kernel = await kernelOf(tree.path);
  const base = await baseLayer(context, tree, kernel, { key: await baseKey(inputs), compression });
  const top = await agentLayer(context, agent, { output, extra, compression });
  await joinLayers([base, top], join(output, 'initrd.img'));
  await copyFile(join(tree.path, 'boot', `vmlinuz-${kernel}`), join(output, 'vmlinuz'));
  await makeBootMedium(context, tree.path, { output, signer });
  const unpacked = base.unpackedSize + top.unpackedSize;
  const initrd = { name: 'initrd.img', ...(await fileDigest(join(output, 'initrd.img'))), unpacked_size: unpacked };
  await writeFile(
    join(output, 'licenses.txt'),
    await licensesText({ npmPackages: [...agent.npmPackages, paths.terminalAddon.directory], tree: tree.path }),
  );
  const digest = async (name: string) => ({ name, ...(await fileDigest(join(output, name))) });
  const vmlinuz = await digest('vmlinuz');
  const others = await Promise.all(['licenses.txt', 'boot-medium.bin', 'boot-medium.json'].map(digest));
  await writeManifest(output, {
    input_hash: inputHash,
    inputs: { ...inputs, compression },
    outputs: [vmlinuz, initrd, ...others],
    unpacked_size: unpacked,
    kernel,
  });
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
  context.say(
    `ramdisk: ${output}: kernel ${megabytes(vmlinuz.size)}, initrd ${megabytes(initrd.size)} (${megabytes(unpacked)} unpacked)`,
  );
}

/** The Debian packages that its files are picked from. */
export function ramdiskPackages(context: BuildContext): Promise<PackageTree> {
  return packageTree(context, {
    name: 'ramdisk',
    suite,
    packages: wanted,
    format: 'tree',
    options: [
      '--variant=extract',
      '--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr',
      '--skip=cleanup/apt', // the package files' names say the versions
      '--aptopt=APT::Install-Recommends "false"',
    ],
    finish: finishTree,
    finishFile: join(import.meta.dirname, 'finish-tree.ts'),
  });
}

async function collectInputs(context: BuildContext, tree: PackageTree, agent: AgentBundle): Promise<ManifestInputs> {
  const { stdout } = await context.run(paths.nodeBinary, ['--version']);
  return {
    recipe_sha256: await sourceHash(join(import.meta.dirname, '..'), /^os-image\//),
    packages: [...tree.packages],
    host_packages: await hostPackageVersions(context.run),
    node_version: stdout.trim(),
    node_sha256: (await fileDigest(paths.nodeBinary)).sha256,
    agent_sha256: agent.sha256,
  };
}

/** The base layer depends on neither the agent nor the scripts that are packed with it. */
async function baseKey(inputs: ManifestInputs): Promise<string> {
  const recipe = await sourceHash(
    import.meta.dirname,
    /^overlay\/|^agent-bundle|^authenticode|^boot-medium|^build-ramdisk|^compile-agent|^custom-managers|^licenses|^sign-program|^stage-agent/,
  );
  const { packages, host_packages: host, node_sha256: node } = inputs;
  return hashOf({ packages, host, node, recipe });
}

export async function kernelOf(tree: string): Promise<string> {
  const kernels = await readdir(join(tree, 'usr/lib/modules'));
  const [kernel] = kernels;
  if (kernel === undefined || kernels.length > 1) {
    throw new AppError(
      'internal',
      `pick the kernel of the ramdisk: want exactly one, found ${kernels.join(', ') || 'none'}`,
    );
  }
  return kernel;
}

async function baseLayer(
  context: BuildContext,
  tree: PackageTree,
  kernel: string,
  { key, compression }: { readonly key: string; readonly compression: Compression },
): Promise<Layer> {
  const target = join(paths.cache, `ramdisk-base-${compression}.cpio.zst`);
  const note = `${target}.json`;
  const made = BaseNote.parse(JSON.parse((await readIfPresent(note)) ?? '{}'));
  if (!context.force && made.key === key) return { path: target, unpackedSize: made.unpackedSize };
  await rm(note, { force: true });
  const stage = join(paths.cache, `ramdisk-base-${compression}`);
  context.say('ramdisk: collecting tools, Node and kernel modules');
  await stageBase(context, tree.path, stage, kernel);
  context.say(`ramdisk: compressing${compression === 'small' ? ', which takes minutes' : ''}`);
  const layer = await packLayer(context, stage, target, compression);
  await rm(stage, { recursive: true });
  await writeFile(note, JSON.stringify({ key, unpackedSize: layer.unpackedSize }));
  return layer;
}

/** Ramdisks for different outputs may be made at the same time: each has its own place. */
async function agentLayer(
  context: BuildContext,
  agent: AgentBundle,
  { output, extra, compression }: Required<Pick<RamdiskOptions, 'output' | 'extra' | 'compression'>>,
): Promise<Layer> {
  const stage = join(paths.cache, `agent-${basename(output)}`);
  await stageAgent(context, agent, stage, extra);
  const layer = await packLayer(context, stage, `${stage}.cpio.zst`, compression);
  await rm(stage, { recursive: true });
  return layer;
}

/** The kernel wants each archive to start at a multiple of four bytes; it skips zeros in between. */
async function joinLayers(layers: readonly Layer[], target: string): Promise<void> {
  const parts: Uint8Array[] = [];
  for (const layer of layers) {
    const bytes = await readFile(layer.path);
    parts.push(bytes, new Uint8Array((4 - (bytes.length % 4)) % 4));
  }
  await writeFile(`${target}.new`, Buffer.concat(parts));
  await rename(`${target}.new`, target);
}
