import { expect, test } from 'vitest';
import { imagesIn } from '#conductor/images/image-users.ts';

test('images are found by their URLs in any text', () => {
  const text = `{"a": "http://192.0.2.1/x/debian%2012.caibx?x=1", "b": "file:///own.caibx.caibx", "c": ".caibx/no"} 50%.caibx`;
  expect([...imagesIn(text)]).toEqual(['debian 12', 'own.caibx', '50%']);
});

test('a long text of one word is read at once, and names that no file can have are none', () => {
  const long = 'a'.repeat(1024 * 1024);
  expect([...imagesIn(long)]).toEqual([]);
  expect([...imagesIn(`${long}.caibx ${'a'.repeat(250)}.caibx ${'a'.repeat(249)}.caibx`)]).toEqual(['a'.repeat(249)]);
});
