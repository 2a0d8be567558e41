import { expect, test } from 'vitest';
import { applyJsonPatch, JsonPatch, patchRoots } from '#conductor/kernel/json-patch.ts';

const writable = ['extra', 'name'];
const apply = (document: Record<string, unknown>, patch: JsonPatch) => applyJsonPatch(document, patch, writable);

test('add replaces what is there, and appends to a list', () => {
  const before = { extra: { a: 1, list: [1] } };
  const after = apply(before, [
    { op: 'add', path: '/extra/a', value: 2 },
    { op: 'add', path: '/extra/list/-', value: 2 },
    { op: 'add', path: '/extra/b', value: { c: null } },
    { op: 'add', path: '/name', value: null },
  ]);
  expect(after).toEqual({ extra: { a: 2, list: [1, 2], b: { c: null } }, name: null });
  expect(before).toEqual({ extra: { a: 1, list: [1] } });
});

test('remove and replace need what they name', () => {
  expect(apply({ extra: { a: 1 } }, [{ op: 'remove', path: '/extra/a' }])).toEqual({ extra: {} });
  expect(() => apply({ extra: {} }, [{ op: 'remove', path: '/extra/a' }])).toThrow(
    "can't remove a non-existent object 'a'",
  );
  expect(() => apply({ extra: {} }, [{ op: 'replace', path: '/extra/a', value: 1 }])).toThrow("can't replace");
  expect(() => apply({ extra: {} }, [{ op: 'add', path: '/extra/a/b', value: 1 }])).toThrow('does not exist');
  expect(() => apply({ extra: {} }, [{ op: 'add', path: '/extra/a' }])).toThrow('value is missing');
});

test('the error of a bad value does not repeat it: it may be a password', () => {
  const patch: JsonPatch = [{ op: 'replace', path: '/extra/password', value: 'hunter2' }];
  expect(() => apply({ extra: {} }, patch)).toThrow(expect.not.stringContaining('hunter2') as string);
});

test('only listed roots may change', () => {
  expect(() => apply({}, [{ op: 'add', path: '/uuid', value: 1 }])).toThrow(
    'Cannot patch /uuid. Only the following can be updated: extra, name',
  );
  expect(
    patchRoots([
      { op: 'remove', path: '/extra/a/b' },
      { op: 'remove', path: '/extra/c' },
    ]),
  ).toEqual(['extra']);
});

test('the form is Ironic’s: no test, move, copy, no other escapes than ~0 and ~1', () => {
  for (const bad of [
    {},
    [{ op: 'test', path: '/a', value: 1 }],
    [{ op: 'add', path: 'a', value: 1 }],
    [{ op: 'add', path: '/a~2b', value: 1 }],
    [{ op: 'add', path: '/a~', value: 1 }],
  ]) {
    expect(JsonPatch.safeParse(bad).success).toBe(false);
  }
  expect(JsonPatch.safeParse([]).success).toBe(true);
});

test('~0 and ~1 stand for ~ and / in keys', () => {
  const patch: JsonPatch = JsonPatch.parse([
    { op: 'add', path: '/extra/a~1b', value: 1 },
    { op: 'replace', path: '/extra/c~0d', value: 2 },
    { op: 'remove', path: '/extra/~01' },
  ]);
  expect(apply({ extra: { 'c~d': 0, '~1': 0 } }, patch)).toEqual({ extra: { 'a/b': 1, 'c~d': 2 } });
  expect(() => apply({ extra: {} }, [{ op: 'add', path: '/extra~1a', value: 1 }])).toThrow('Cannot patch /extra~1a');
});
