import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { parseChunkIndex } from '#shared/chunks/chunk-index.ts';
import { chunkSizes, isCutAtBlocks, writeStore } from '#shared/chunks/write-store.ts';
import { run } from '#shared/process/run.ts';
import { noise } from '#test/support/noise.ts';

const mib = 1024 * 1024;
const image = Buffer.concat([noise('head', 3 * mib), Buffer.alloc(4 * mib), noise('tail', 2 * mib + 777)]);
const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-store-'));
  folders.push(folder);
  return folder;
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += size) yield await Promise.resolve(bytes.subarray(from, from + size));
}

async function readBack(folder: string, index: string): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (const { id } of parseChunkIndex(await readFile(index)).chunks) {
    pieces.push(zstdDecompressSync(await readFile(join(folder, 'default.castr', id.slice(0, 4), `${id}.cacnk`))));
  }
  return Buffer.concat(pieces);
}

describe('a chunk store', () => {
  test('has the image, in the same files however it was read', async () => {
    const [folder, other] = [await makeFolder(), await makeFolder()];
    const stored = await writeStore(inPieces(image, 65_536), folder, 'demo');
    const again = await writeStore(inPieces(image, 99_991), other, 'demo');
    expect(again).toEqual({ ...stored, index: again.index });
    const index = await readFile(stored.index);
    expect(stored.sha256).toBe(createHash('sha256').update(index).digest('hex'));
    expect(parseChunkIndex(index)).toMatchObject({ imageBytes: image.length, sizes: chunkSizes });
    expect(isCutAtBlocks(parseChunkIndex(index))).toBe(true);
    expect((await readBack(folder, stored.index)).equals(image)).toBe(true);
  });

  test('gets only what it lacks, and leaves no parts behind', async () => {
    const folder = await makeFolder();
    const first = await writeStore(inPieces(image, mib), folder, 'first');
    expect(first.newChunks).toBeLessThan(first.chunks); // the hole's are one
    const changed = Buffer.concat([image.subarray(0, mib), noise('insertion', 4096), image.subarray(mib)]);
    const second = await writeStore(inPieces(changed, mib), folder, 'second');
    expect(second.newChunks).toBeLessThan(8);
    expect((await readBack(folder, second.index)).equals(changed)).toBe(true);
    expect(await writeStore(inPieces(image, mib), folder, 'first')).toMatchObject({ newChunks: 0, newBytes: 0 });
    const names = await readdir(folder, { recursive: true });
    expect(names.filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test('has no index of an image that is empty, or breaks off', async () => {
    const folder = await makeFolder();
    await expect(writeStore(inPieces(Buffer.alloc(0), 1), folder, 'empty')).rejects.toThrow('the image is empty');
    const broken = async function* () {
      yield* inPieces(image, mib);
      throw new Error('bad sector');
    };
    await expect(writeStore(broken(), folder, 'broken')).rejects.toThrow('bad sector');
    expect((await readdir(folder)).filter((name) => name.endsWith('.caibx'))).toEqual([]);
  });
});

const casync = await run('casync', ['--version']).catch(() => undefined);

test.skipIf(casync === undefined)(
  `casync extracts it${casync ? '' : ' (skipped: casync is not installed)'}`,
  async () => {
    const folder = await makeFolder();
    const { index } = await writeStore(inPieces(image, mib), folder, 'demo');
    const raw = join(folder, 'demo.raw');
    await writeFile(raw, '');
    await run('casync', ['extract', `--store=${join(folder, 'default.castr')}`, index, raw]);
    expect((await readFile(raw)).equals(image)).toBe(true);
  },
);
