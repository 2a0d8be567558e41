import { expect, test } from 'vitest';
import { createPackedStore } from '#agent/image/neighbours/packed-store.ts';
import { createWantedChunks } from '#agent/image/neighbours/wanted-chunks.ts';

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
