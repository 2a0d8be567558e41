import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert, integer, property } from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { overwrite, overwritePasses } from '#agent/erase/overwrite.ts';
import { type RawDisk, withRawDisk } from '#agent/erase/raw-disk.ts';
import { plantCanaries, proveErased, sampleBytes, samplePlaces } from '#agent/erase/samples.ts';
import type { SlotPool } from '#agent/image/slot-pool.ts';

const bytes = 3 * 1024 * 1024 + 8192;
let folder: string;
let file: string;
const signal = new AbortController().signal;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-samples-'));
  file = join(folder, 'disk');
  await writeFile(file, Buffer.alloc(bytes, 0xaa));
});
afterEach(() => rm(folder, { recursive: true }));

function withFile<T>(use: (raw: RawDisk, pool: SlotPool) => Promise<T>): Promise<T> {
  // a plain file: not every file system reads it past the page cache
  return withRawDisk({ name: file, sizeBytes: bytes }, use, (name) => open(name, 'r+'));
}

describe('proof', () => {
  test('an erase that did nothing is found out', async () => {
    const canaries = await withFile((raw, pool) => plantCanaries(raw, pool));
    await expect(withFile((raw, pool) => proveErased(raw, pool, canaries))).rejects.toThrow(
      /still has at byte 0 what was written there before it was erased/,
    );
  });

  test('one that missed the last block is', async () => {
    const canaries = await withFile((raw, pool) => plantCanaries(raw, pool, 8));
    const disk = await readFile(file);
    await writeFile(file, Buffer.concat([Buffer.alloc(bytes - sampleBytes), disk.subarray(-sampleBytes)]));
    await expect(withFile((raw, pool) => proveErased(raw, pool, canaries))).rejects.toThrow(
      new RegExp(`at byte ${bytes - sampleBytes} `),
    );
  });

  test.each([
    ['zeros', 0],
    ['ones', 0xff],
    ['changed', 0x17],
  ] as const)('%s', async (reads, value) => {
    const canaries = await withFile((raw, pool) => plantCanaries(raw, pool, 8));
    expect(canaries).toHaveLength(8);
    await writeFile(file, Buffer.alloc(bytes, value));
    const proof = await withFile((raw, pool) => proveErased(raw, pool, canaries, 16));
    expect(proof).toMatchObject({ canaries: 8, reads });
    expect(proof.samples).toBeGreaterThan(0);
  });

  test('a disk that ends too early is told of', async () => {
    await writeFile(file, Buffer.alloc(bytes - 4096));
    await expect(withFile((raw, pool) => proveErased(raw, pool, []))).rejects.toThrow(`ends at byte ${bytes - 4096}`);
  });
});

describe('places', () => {
  test('lie on the disk, in order, each once, with the first and the last block', () => {
    assert(
      property(integer({ min: sampleBytes, max: 2 ** 50 }), integer({ min: 2, max: 100 }), (size, count) => {
        const places = samplePlaces(size, count);
        expect(places[0]).toBe(0);
        expect(places.at(-1)).toBe((Math.floor(size / sampleBytes) - 1) * sampleBytes);
        expect(new Set(places).size).toBe(places.length);
        expect(places).toEqual([...places].sort((a, b) => a - b));
        expect(places.length).toBeLessThanOrEqual(count);
      }),
    );
    expect(samplePlaces(100, 5)).toEqual([]);
  });
});

describe('overwriting', () => {
  test('random bytes, then zeros, to the last byte', async () => {
    const told: number[] = [];
    await withFile((raw, pool) => overwrite(raw, pool, 'random', signal, (done) => told.push(done)));
    const random = await readFile(file);
    const mib = 1024 * 1024;
    expect(random.subarray(0, mib).equals(random.subarray(mib, 2 * mib))).toBe(false);
    expect(random.subarray(-4096).every((byte) => byte === 0xaa)).toBe(false);
    expect(told.at(-1)).toBe(bytes);
    await withFile((raw, pool) => overwrite(raw, pool, 'zeros', signal, () => undefined));
    expect((await readFile(file)).every((byte) => byte === 0)).toBe(true);
    expect((await readFile(file)).length).toBe(bytes);
  });

  test('stops when the agent does', async () => {
    const stopped = AbortSignal.abort();
    await expect(
      withFile((raw, pool) => overwrite(raw, pool, 'zeros', stopped, () => undefined)),
    ).rejects.toMatchObject({ code: 'aborted' });
    expect((await readFile(file))[0]).toBe(0xaa);
  });

  test.each([
    [{ iterations: 1, zeroize: true }, ['random', 'zeros']],
    [{ iterations: 2, zeroize: false }, ['random', 'random']],
    [{ iterations: 0, zeroize: true }, ['zeros']],
    [{ iterations: 0, zeroize: false }, ['zeros']],
  ])('passes for %j', (options, expected) => {
    expect(overwritePasses(options)).toEqual(expected);
  });
});
