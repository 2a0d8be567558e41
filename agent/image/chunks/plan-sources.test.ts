import { expect, test } from 'vitest';
import { type Held, planSources } from '#agent/image/chunks/plan-sources.ts';
import type { Place } from '#agent/image/chunks/survey-disk.ts';
import type { ChunkIndex } from '#shared/chunks/chunk-index.ts';
import { array, assert, boolean, integer, nat, property, record } from '#test/fuzz/fast-check.ts';

const size = 256 * 1024;

function indexOf(ids: readonly string[]): ChunkIndex {
  const chunks = ids.map((id, at) => ({ id, offset: at * size, length: size }));
  return { imageBytes: ids.length * size, digest: 'sha256', sizes: { min: size, avg: size, max: size }, chunks };
}

test('whatever the places, no chunk is read where another was written before, and what is held stays bounded', () => {
  const chunk = record({ id: integer({ min: 0, max: 40 }), inPlace: boolean() });
  const shape = [
    array(chunk, { minLength: 1, maxLength: 60 }),
    array(nat(64 * size), { maxLength: 40 }),
    nat(12),
  ] as const;
  const check = property(...shape, (given, offsets, heldChunks) => {
    const index = indexOf(given.map(({ id }) => `chunk ${id}`));
    const inPlace = new Set(index.chunks.filter((_, at) => given[at]?.inPlace));
    const elsewhere = new Map<string, Place>(
      offsets.map((offset, at) => [`chunk ${at}`, { offset: offset - (offset % 4096), stays: false }]),
    );
    const held = new Map<string, Held>();
    let most = 0;
    for (const { chunk: planned, source, holdFirst } of planSources(
      index,
      { inPlace, elsewhere },
      0,
      heldChunks * size,
    )) {
      for (const place of holdFirst) {
        expect(place.from).toBeGreaterThanOrEqual(planned.offset === 0 ? 0 : planned.offset);
        held.set(place.chunk.id, place);
      }
      most = Math.max(most, held.size);
      expect(source.kind === 'kept').toBe(inPlace.has(planned));
      expect(source.kind === 'copied' ? source.from : planned.offset).toBeGreaterThanOrEqual(planned.offset);
      if (source.kind !== 'held') continue;
      expect(held.has(planned.id)).toBe(true);
      if (source.isLast) held.delete(planned.id);
    }
    expect(held.size).toBe(0);
    expect(most).toBeLessThanOrEqual(heldChunks);
  });
  assert(check, { numRuns: 500 });
});

test('a chunk in place is read only where its MiB is written', () => {
  const index = indexOf(Array.from({ length: 12 }, (_, at) => `${at}`));
  const inPlace = new Set(index.chunks.filter((_, at) => at !== 9));
  const plan = planSources(index, { inPlace, elsewhere: new Map() }, 4, 0);
  expect(plan.map(({ source }) => (source.kind === 'kept' ? String(source.reads) : source.kind))).toEqual(
    'false false false false true fetched true true'.split(' '),
  );
});
