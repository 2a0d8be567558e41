import { createHash } from 'node:crypto';

/** Bytes that do not compress and are nowhere the same, of each seed the same in every run: how chunks are cut depends on them. */
export function noise(seed: string, bytes: number): Buffer {
  return createHash('shake256', { outputLength: bytes }).update(seed).digest();
}
