import { rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { fileHash, readIfPresent, unlessMissing } from '#image-build/files.ts';
import { AppError } from '#shared/errors/app-error.ts';

const fileName = 'manifest.json';

const Output = z.object({
  name: z.string(),
  /** Bytes. */
  size: z.number().int().nonnegative(),
  sha256: z.string(),
  sha512: z.string().optional(),
  /** Bytes after decompression, of compressed outputs. */
  unpacked_size: z.number().int().nonnegative().optional(),
});

const Partition = z.object({
  number: z.number().int().positive(),
  label: z.string(),
  /** GPT type as sgdisk's four hex digits. */
  type: z.string(),
  guid: z.string(),
  /** 512-byte sectors. */
  first_sector: z.number().int().nonnegative(),
  sectors: z.number().int().positive(),
});

/** `manifest.json` beside a build's outputs: what went in, what came out. */
export const Manifest = z.object({
  /** Hash of everything that decides the outputs' bytes; equal hash, equal outputs. */
  input_hash: z.string(),
  inputs: z.object({
    recipe_sha256: z.string(),
    /** `name=version`, sorted. */
    packages: z.array(z.string()),
    /** The same of the tools of the machine that built. */
    host_packages: z.array(z.string()).optional(),
    without: z.array(z.string()).readonly().optional(),
    node_version: z.string().optional(),
    node_sha256: z.string().optional(),
    agent_sha256: z.string().optional(),
    /** Script steps and the native addon beside the agent. */
    extra_sha256: z.string().optional(),
    compression: z.string().optional(),
    /** Hash of the certificate, or of the command, that has signed the boot medium's loader besides. */
    signer: z.string().optional(),
  }),
  outputs: z.array(Output),
  /** Bytes of all files that the kernel unpacks (ramdisk only). */
  unpacked_size: z.number().int().nonnegative().optional(),
  kernel: z.string().optional(),
  partitions: z.array(Partition).optional(),
});
export type Manifest = z.infer<typeof Manifest>;
export type ManifestInputs = Manifest['inputs'];
export type ManifestPartition = z.infer<typeof Partition>;

/** The manifest in `directory`; `undefined` when there is none.
 * @throws AppError `internal` when it isn't one of ours */
export async function readManifest(directory: string): Promise<Manifest | undefined> {
  const path = join(directory, fileName);
  const text = await readIfPresent(path);
  if (text === undefined) return undefined;
  try {
    return Manifest.parse(JSON.parse(text));
  } catch (cause) {
    throw new AppError('internal', `read ${path}; delete it to build afresh`, { cause });
  }
}

/** Written last, under its final name only when whole: a manifest says that the outputs beside it are complete. */
export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  const path = join(directory, fileName);
  await writeFile(`${path}.new`, `${JSON.stringify(manifest, null, 2)}\n`);
  await rename(`${path}.new`, path);
}

/**
 * Whether `directory` holds the outputs of these inputs, each with the recorded size and bytes.
 * @param inputHashes of the outputs that will do
 */
export async function isCurrent(directory: string, inputHashes: readonly string[]): Promise<boolean> {
  const manifest = await readManifest(directory);
  if (manifest === undefined || !inputHashes.includes(manifest.input_hash)) return false;
  for (const output of manifest.outputs) {
    const path = join(directory, output.name);
    const size = (await unlessMissing(() => stat(path)))?.size;
    if (size !== output.size || (await fileHash(path, 'sha256')) !== output.sha256) return false;
  }
  return true;
}
