import { expect, test } from 'vitest';
import { compareDocuments } from '#conductor/sites/revisions/compare-versions.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const document = (name: string, data: unknown, collection = 'c') => ({
  collection,
  schema: 'x/Y/v1',
  name,
  metadata: { name },
  data,
});
const changesOf = (before: unknown, after: unknown) =>
  compareDocuments([document('d', before)], [document('d', after)]).changed[0]?.changes ?? [];

test.each([
  [{ a: 1 }, { a: 1 }, []],
  [{ a: 1 }, { a: 2 }, [{ path: 'data.a', old: 1, new: 2 }]],
  [
    { a: 1 },
    { b: 1 },
    [
      { path: 'data.a', old: 1 },
      { path: 'data.b', new: 1 },
    ],
  ],
  [
    { a: [1, 2] },
    { a: [1, 3, 4] },
    [
      { path: 'data.a[1]', old: 2, new: 3 },
      { path: 'data.a[2]', new: 4 },
    ],
  ],
  [{ a: {} }, { a: [] }, [{ path: 'data.a', old: {}, new: [] }]],
  [{ a: null }, { a: false }, [{ path: 'data.a', old: null, new: false }]],
  [{ a: { b: [{ c: 1 }] } }, { a: { b: [{ c: 2 }] } }, [{ path: 'data.a.b[0].c', old: 1, new: 2 }]],
  [{}, JSON.parse('{"__proto__": 1}'), [{ path: 'data.__proto__', new: 1 }]],
])('%j → %j', (before, after, changes) => {
  expect(changesOf(before, after)).toEqual(changes);
});

test('a document that moves to another collection has changed', () => {
  const { changed } = compareDocuments([document('d', 1)], [document('d', 1, 'other')]);
  expect(changed).toMatchObject([{ name: 'd', changes: [{ path: 'collection', old: 'c', new: 'other' }] }]);
});

test('one way is the other way round backwards, and nothing is told of what is the same', () => {
  const documents = fc
    .uniqueArray(fc.constantFrom('a', 'b', 'c'))
    .chain((names) => fc.tuple(...names.map((name) => fc.jsonValue().map((data) => document(name, data)))));
  fc.assert(
    fc.property(documents, documents, (one, other) => {
      const there = compareDocuments(one, other);
      const back = compareDocuments(other, one);
      expect(back.added.map(({ name }) => name).sort()).toEqual(there.removed.map(({ name }) => name).sort());
      expect(back.changed.map(({ name }) => name).sort()).toEqual(there.changed.map(({ name }) => name).sort());
      expect(compareDocuments(one, one)).toEqual({ added: [], removed: [], changed: [] });
    }),
  );
});
