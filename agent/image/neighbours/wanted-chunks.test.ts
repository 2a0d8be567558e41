import { expect, test } from 'vitest';
import { createPackedStore } from '#agent/image/neighbours/packed-store.ts';
import { createWantedChunks } from '#agent/image/neighbours/wanted-chunks.ts';
import type { Chunk } from '#shared/chunks/chunk-index.ts';

const chunks = ['a', 'b', 'c', 'd'].map((letter, at) => ({ offset: at * 60, length: 60, id: letter.repeat(64) }));
const numbers = new Map(chunks.map(({ id }, at) => [id, at]));

test('a chunk that is waited for stays open when those after it fill the memory', () => {
  const packed = createPackedStore(() => 0);
  const wanted = createWantedChunks(numbers, packed, 100);
  const [front, next] = chunks as [(typeof chunks)[0], (typeof chunks)[0]];
  wanted.expect(chunks);
  wanted.await(front);
  const ids = (): readonly string[] => wanted.open(false, 0).map(({ chunk }) => chunk.id);
  expect(ids()).toEqual([front.id, next.id]);
  // the second can't be compressed, and neither can what is fetched beside it; the request for the first fails
  for (const { id } of chunks.slice(1)) {
    packed.add(id, Buffer.alloc(60));
    Object.assign(wanted.find(id) ?? {}, { isHere: true });
  }
  expect(ids()).toEqual([front.id]);
  expect(wanted.open(true, 0).map(({ chunk }) => chunk.id)).toEqual([front.id]);
});

test('what was waited for is not fetched again, in whatever order, and what the image has twice is one request', () => {
  const [a, b, c, d] = chunks as [Chunk, Chunk, Chunk, Chunk];
  const again = { ...a, offset: 240 };
  const packed = createPackedStore(() => 0);
  const wanted = createWantedChunks(numbers, packed);
  const ids = (): readonly string[] => wanted.open(false, 0).map(({ chunk }) => chunk.id);
  wanted.expect([a]);
  wanted.expect([b, c, d, again]);
  expect(ids()).toEqual([a.id, b.id, c.id, d.id]);
  const got = (chunk: Chunk): void => {
    wanted.await(chunk);
    wanted.leave(chunk);
  };
  // the first wait for the disk
  got(c);
  expect(ids()).toEqual([a.id, b.id, d.id]);
  got(a);
  // its second place comes later
  expect(ids()).toEqual([b.id, d.id, a.id]);
  wanted.await(again);
  expect(ids()).toEqual([a.id, b.id, d.id]);
  // one that was not expected: the disk was to have it
  got({ offset: 70, length: 10, id: 'e'.repeat(64) });
  wanted.leave(again);
  got(b);
  got(d);
  expect(ids()).toEqual([]);
});
