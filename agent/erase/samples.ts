import { createHash, randomBytes, randomInt } from 'node:crypto';
import type { RawDisk } from '#agent/erase/raw-disk.ts';
import type { SlotPool } from '#agent/image/decode/slot-pool.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { EraseProof } from '#shared/wire/erase-result.ts';

/** The unit of a sample: a multiple of every sector size in use. */
export const sampleBytes = 4096;

const zeros = Buffer.alloc(sampleBytes);
const ones = Buffer.alloc(sampleBytes, 0xff);

/** Places overwritten with random bytes before an erase. */
const canaryCount = 64;

/** Places looked at before and after: README.md says what that many can show. About 16 s on a hard disk. */
const sampleCount = 2048;

/** A disk that answers no more than that can't be compared with what it held. */
const maxUnreadable = 8;

/** Content of a place of the disk. */
interface Held {
  readonly offset: number;
  readonly digest: string;
  readonly fill: 'zeros' | 'ones' | undefined;
}

/** Content of a disk right before an erase, to be compared with afterwards. */
export interface Evidence {
  /** Random bytes, written for the purpose. */
  readonly canaries: readonly Held[];
  /** Samples of what was there anyway; empty for a disk that could not be read. */
  readonly samples: readonly Held[];
}

/** Evidence of a disk that could neither be written nor read. */
export const noEvidence: Evidence = { canaries: [], samples: [] };

/** Reads places all over the disk. Those that can't be read are left out; after too many of them all are. */
export async function readSamples(raw: RawDisk, pool: SlotPool, count = sampleCount): Promise<readonly Held[]> {
  const slot = await pool.acquire();
  const samples: Held[] = [];
  let unreadable = 0;
  try {
    for (const offset of samplePlaces(raw.sizeBytes, count)) {
      try {
        samples.push(await readPlace(raw, slot.bytes, offset));
      } catch (error) {
        if (!(error instanceof AppError && error.code === 'storage_error')) throw error;
        unreadable += 1;
        // each may take the disk half a minute
        if (unreadable > maxUnreadable) return [];
      }
    }
    return samples;
  } finally {
    slot.release();
  }
}

/**
 * Writes random bytes to the first block, the last one and others all over the disk: an erase that only says it was
 * done is found out.
 */
export async function plantCanaries(raw: RawDisk, pool: SlotPool, count = canaryCount): Promise<readonly Held[]> {
  const slot = await pool.acquire();
  try {
    const canaries: Held[] = [];
    for (const offset of samplePlaces(raw.sizeBytes, count)) {
      const bytes = slot.bytes.subarray(0, sampleBytes);
      bytes.set(randomBytes(sampleBytes));
      canaries.push({ offset, digest: digestOf(bytes), fill: undefined });
      await raw.write(bytes, offset);
    }
    await raw.flush();
    return canaries;
  } finally {
    slot.release();
  }
}

/**
 * Reads the canaries' places and the samples' and others.
 * @throws AppError `storage_error` when a place holds what it held before and that is not zeros or ones, or when
 * nothing shows that the erase did anything.
 */
export async function proveErased(
  raw: RawDisk,
  pool: SlotPool,
  before: Evidence,
  count = sampleCount,
): Promise<EraseProof> {
  const planted = new Map(before.canaries.map((each) => [each.offset, each]));
  const known = new Map([...before.samples, ...before.canaries].map((each) => [each.offset, each]));
  const places = [...new Set([...known.keys(), ...samplePlaces(raw.sizeBytes, count)])].sort((a, b) => a - b);
  const seen = { zeros: 0, ones: 0, total: 0, samples: 0 };
  const slot = await pool.acquire();
  try {
    for (const offset of places) {
      const now = await readPlace(raw, slot.bytes, offset);
      const held = known.get(offset);
      if (now.fill === undefined && held?.digest === now.digest) {
        const what = planted.has(offset) ? 'what was written there before it was erased' : 'what it held before';
        throw new AppError('storage_error', `${raw.name} still has at byte ${offset} ${what}`);
      }
      seen.total += 1;
      if (now.fill) seen[now.fill] += 1;
      // what was compared with nothing and is not blank says nothing
      if (!planted.has(offset) && (held || now.fill)) seen.samples += 1;
    }
  } finally {
    slot.release();
  }
  const proof: EraseProof = { canaries: planted.size, samples: seen.samples, reads: readsAs(seen) };
  if (proof.canaries === 0) requireStrongProof(raw.name, before, proof);
  return proof;
}

/** A disk that takes no writes may keep what it has, acknowledge every erase and be none the wiser. */
function requireStrongProof(name: string, before: Evidence, proof: EraseProof): void {
  const why = `${name} took no random bytes before it was erased by its own means, and`;
  if (proof.reads === 'changed' || proof.samples === 0) {
    throw new AppError('storage_error', `${why} reads neither as zeros nor as ones now: nothing proves the erase`);
  }
  if (before.samples.length > 0 && before.samples.every(({ fill }) => fill === proof.reads)) {
    throw new AppError(
      'storage_error',
      `${why} read as ${proof.reads} before as it does now: nothing proves the erase`,
    );
  }
}

async function readPlace(raw: RawDisk, buffer: Buffer, offset: number): Promise<Held> {
  const bytes = buffer.subarray(0, sampleBytes);
  bytes.fill(0x5a); // a read that leaves the buffer alone must not pass for zeros
  await raw.read(bytes, offset);
  return { offset, digest: digestOf(bytes), fill: fillOf(bytes) };
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64');
}

function fillOf(bytes: Buffer): Held['fill'] {
  if (bytes.equals(zeros)) return 'zeros';
  return bytes.equals(ones) ? 'ones' : undefined;
}

function readsAs(seen: { readonly zeros: number; readonly ones: number; readonly total: number }): EraseProof['reads'] {
  if (seen.zeros === seen.total) return 'zeros';
  return seen.ones === seen.total ? 'ones' : 'changed';
}

/**
 * Offsets in ascending order: the first block, the last one, and between them a random one of each of equal stripes, so
 * that no stretch as long as two of these is missed.
 */
export function samplePlaces(sizeBytes: number, count: number): readonly number[] {
  const blocks = Math.floor(sizeBytes / sampleBytes);
  if (blocks === 0) return [];
  const stripes = Math.min(count, blocks);
  const edge = (index: number): number => Math.floor((index * blocks) / stripes);
  const inside = Array.from({ length: stripes }, (_, index) => {
    if (index === 0) return 0;
    return index === stripes - 1 ? blocks - 1 : edge(index) + randomInt(edge(index + 1) - edge(index));
  });
  return inside.map((block) => block * sampleBytes);
}
