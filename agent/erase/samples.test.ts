import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { overwriteDisk, overwritePasses } from '#agent/erase/erase-methods.ts';
import { type RawDisk, withRawDisk } from '#agent/erase/raw-disk.ts';
import {
  type Evidence,
  noEvidence,
  plantCanaries,
  proveErased,
  readSamples,
  sampleBytes,
  samplePlaces,
} from '#agent/erase/samples.ts';
import type { SlotPool } from '#agent/image/decode/slot-pool.ts';
import { assert, integer, property } from '#test/fuzz/fast-check.ts';

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

const gather = (canaries = 8): Promise<Evidence> =>
  withFile(async (raw, pool) => ({
    samples: await readSamples(raw, pool),
    canaries: canaries === 0 ? [] : await plantCanaries(raw, pool, canaries),
  }));
const prove = (before: Evidence, count?: number) => withFile((raw, pool) => proveErased(raw, pool, before, count));

describe('proof', () => {
  test('an erase that did nothing is found out', async () => {
    await expect(prove(await gather())).rejects.toThrow(
      /still has at byte 0 what was written there before it was erased/,
    );
  });

  test('one that missed the last block is', async () => {
    const before = await gather();
    const disk = await readFile(file);
    await writeFile(file, Buffer.concat([Buffer.alloc(bytes - sampleBytes), disk.subarray(-sampleBytes)]));
    await expect(prove(before)).rejects.toThrow(new RegExp(`at byte ${bytes - sampleBytes} `));
  });

  test.each([
    ['zeros', 0],
    ['ones', 0xff],
    ['changed', 0x17],
  ] as const)('%s', async (reads, value) => {
    const before = await gather();
    await writeFile(file, Buffer.alloc(bytes, value));
    const proof = await prove(before);
    expect(proof).toMatchObject({ canaries: 8, reads });
    expect(proof.samples).toBe(bytes / sampleBytes - 8);
  });

  test('one that only took the canaries away is found out', async () => {
    const before = await gather();
    const disk = await readFile(file);
    for (const { offset } of before.canaries) disk.fill(0, offset, offset + sampleBytes);
    await writeFile(file, disk);
    await expect(prove(before)).rejects.toThrow(/still has at byte \d+ what it held before/);
  });

  test('what was blank may stay so', async () => {
    await writeFile(file, Buffer.alloc(bytes));
    const before = await gather();
    await writeFile(file, Buffer.alloc(bytes));
    expect(await prove(before)).toMatchObject({ canaries: 8, reads: 'zeros' });
  });

  test('a disk that ends too early is told of', async () => {
    await writeFile(file, Buffer.alloc(bytes - 4096));
    await expect(prove(noEvidence)).rejects.toThrow(`ends at byte ${bytes - 4096}`);
  });
});

describe('of a disk that takes no writes', () => {
  test('old data that an acknowledged erase left is found out', async () => {
    await expect(prove(await gather(0))).rejects.toThrow(/still has at byte 0 what it held before/);
  });

  test('noise that is compared with nothing proves nothing', async () => {
    await expect(prove(noEvidence)).rejects.toThrow(/took no random bytes .* reads neither as zeros nor as ones/);
    const before = await gather(0);
    await writeFile(file, Buffer.alloc(bytes, 0x17));
    await expect(prove(before)).rejects.toThrow('reads neither as zeros nor as ones now: nothing proves the erase');
  });

  test('zeros prove an erase where there was something before, or nothing could be read', async () => {
    const before = await gather(0);
    await writeFile(file, Buffer.alloc(bytes));
    expect(await prove(before)).toEqual({ canaries: 0, samples: bytes / sampleBytes, reads: 'zeros' });
    expect(await prove(noEvidence)).toMatchObject({ canaries: 0, reads: 'zeros' });
    await expect(prove(await gather(0))).rejects.toThrow('read as zeros before as it does now');
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
        expect(places).toHaveLength(Math.min(count, Math.floor(size / sampleBytes)));
      }),
    );
    expect(samplePlaces(100, 5)).toEqual([]);
  });

  test('leave no stretch of two stripes out', () => {
    const size = 2 ** 40;
    const places = samplePlaces(size, 4096);
    const gaps = places.slice(1).map((place, index) => place - (places[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(2 * (size / 4096));
  });
});

describe('overwriting', () => {
  test('random bytes, then zeros, to the last byte', async () => {
    const reported: number[] = [];
    await withFile((raw, pool) => overwriteDisk(raw, pool, 'random', signal, (done) => reported.push(done)));
    const random = await readFile(file);
    const mib = 1024 * 1024;
    expect(random.subarray(0, mib).equals(random.subarray(mib, 2 * mib))).toBe(false);
    expect(random.subarray(-4096).every((byte) => byte === 0xaa)).toBe(false);
    expect(reported.at(-1)).toBe(bytes);
    await withFile((raw, pool) => overwriteDisk(raw, pool, 'zeros', signal, () => undefined));
    expect((await readFile(file)).every((byte) => byte === 0)).toBe(true);
    expect((await readFile(file)).length).toBe(bytes);
  });

  test('stops when the agent does', async () => {
    const stopped = AbortSignal.abort();
    await expect(
      withFile((raw, pool) => overwriteDisk(raw, pool, 'zeros', stopped, () => undefined)),
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
