import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readLabels } from '#conductor/sites/documents/read-labels.ts';

const side = fc
  .string({ minLength: 1 })
  .map((text) => text.replaceAll(':', '').trim())
  .filter((text) => text !== '' && text !== '__proto__');
const blank = fc.constantFrom('', ' ', '  ', '\t');

test('a label given as text and as mapping is the same, in any mixture, blanks aside', () => {
  const label = fc.record({ key: side, value: side, before: blank, after: blank, asText: fc.boolean() });
  fc.assert(
    fc.property(fc.array(label, { maxLength: 6 }), (labels) => {
      const given = labels.map(({ key, value, before, after, asText }) =>
        asText ? `${before}${key}${after}:${before}${value}${after}` : { [key]: `${before}${value}` },
      );
      expect(readLabels(given)).toEqual({ labels: labels.map(({ key, value }) => [key, value]), faults: [] });
    }),
  );
});

test('text is a label with exactly one colon and something on either side, and nothing else', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', ':', ' ') }), (text) => {
      const parts = text.split(':');
      const right = parts.length === 2 && parts.every((part) => part.trim() !== '');
      const { labels, faults } = readLabels([text]);
      expect([labels.length, faults.length]).toEqual(right ? [1, 0] : [0, 1]);
    }),
  );
});

test('one mapping has several', () => {
  expect(readLabels({ a: 'b', c: 'd' }).labels).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  expect(readLabels([{ a: 'b', c: 'd' }]).labels).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);
  expect(readLabels([])).toEqual({ labels: [], faults: [] });
});

test('each fault with its place', () => {
  const { faults } = readLabels(['a', 'a:b:c', ':b', { x: 1, y: true, z: ' ' }, 3]);
  expect(faults.map(({ path, message }) => `${path.join('.')} ${message}`)).toMatchInlineSnapshot(`
    [
      "0 is "a", which has 0 colons; it must have exactly one: "key: value"",
      "1 is "a:b:c", which has 2 colons; it must have exactly one: "key: value"",
      "2 must have a key and a value: "rack_kind: dense"",
      "3.x must be text: put it into quotes",
      "3.y must be text: put it into quotes",
      "3.z must have a key and a value: "rack_kind: dense"",
      "4 must be "key: value"",
    ]
  `);
  expect(readLabels('a: b').faults).toMatchInlineSnapshot(`
    [
      {
        "message": "must be a list of labels, each "key: value"",
        "path": [],
      },
    ]
  `);
});

test('keys and values have no control characters', () => {
  const message = 'must have no control characters';
  expect(readLabels(['a\u001bb: c', { 'd\u0085e': 'f' }, 'g: h'])).toEqual({
    labels: [['g', 'h']],
    faults: [
      { path: [0], message },
      { path: [1, 'd\u0085e'], message },
    ],
  });
});
