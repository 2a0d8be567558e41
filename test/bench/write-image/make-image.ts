import { open, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '#shared/process/run.ts';
import { noise } from '#test/support/noise.ts';

const mib = 1024 * 1024;
export const imageBytes = 1536 * mib;
const version = 'holes-60-v3';

export interface BenchImages {
  readonly raw: { readonly path: string; readonly sha256: string };
  readonly zstd: { readonly path: string; readonly sha256: string };
  /** Absent where the host has no qemu-img. */
  readonly qcow2?: { readonly path: string; readonly sha256: string };
}

/**
 * A disk image of 1.5 GiB: 40 % bytes that no compressor shrinks, 60 % holes, in extents of 1 to 16 MiB. The same
 * bytes every time; made once per folder.
 */
export async function makeImages(folder: string): Promise<BenchImages> {
  const raw = join(folder, 'image.raw');
  const zstd = join(folder, 'image.raw.zst');
  const note = join(folder, 'image.json');
  const made = await readNote(note);
  if (made) return made;
  await writeRaw(`${raw}.part`);
  await rename(`${raw}.part`, raw);
  await run('zstd', ['--quiet', '--force', '-3', raw, '-o', zstd], { timeoutMs: 600_000 });
  const qcow2 = await makeQcow2(raw, join(folder, 'image.qcow2'));
  const images = {
    raw: { path: raw, sha256: await hashFile(raw) },
    zstd: { path: zstd, sha256: await hashFile(zstd) },
    ...(qcow2 === undefined ? {} : { qcow2: { path: qcow2, sha256: await hashFile(qcow2) } }),
  };
  await writeFile(note, JSON.stringify({ version, images }));
  return images;
}

async function readNote(note: string): Promise<BenchImages | undefined> {
  const text = await readFile(note, 'utf8').catch(() => '{}'); // not made yet
  const { version: found, images } = JSON.parse(text) as { version?: string; images?: BenchImages };
  if (found !== version || images === undefined) return undefined;
  for (const { path } of [images.raw, images.zstd]) {
    if (!(await stat(path).catch(() => undefined))) return undefined;
  }
  return images;
}

async function writeRaw(path: string): Promise<void> {
  const file = await open(path, 'w');
  try {
    await file.truncate(imageBytes);
    let extent = 0;
    for (let at = 0; at < imageBytes; ) {
      const pieces = 1 + ((extent * 7 + 3) % 16);
      for (let piece = 0; piece < pieces && at + piece * mib < imageBytes; piece += 1) {
        await file.write(noise(String(extent * 64 + piece), mib), 0, mib, at + piece * mib);
      }
      at += Math.round(pieces * 2.5) * mib;
      extent += 1;
    }
  } finally {
    await file.close();
  }
}

async function makeQcow2(raw: string, path: string): Promise<string | undefined> {
  try {
    await run('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', raw, path], { timeoutMs: 600_000 });
    return path;
  } catch (error) {
    if (error instanceof Error && (error.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT')
      return undefined;
    throw error;
  }
}

async function hashFile(path: string): Promise<string> {
  const { stdout } = await run('sha256sum', [path], { timeoutMs: 600_000 });
  return stdout.slice(0, 64);
}
