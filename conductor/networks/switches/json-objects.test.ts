import { describe, expect, test } from 'vitest';
import { createJsonObjectSplitter } from '#conductor/networks/switches/json-objects.ts';
import { peerLimits } from '#shared/peers/peer-limits.ts';
import * as fc from '#test/fuzz/fast-check.ts';

describe('createJsonObjectSplitter', () => {
  test('finds the objects however their bytes are cut', () => {
    const jsonObject = fc
      .dictionary(fc.string(), fc.jsonValue())
      .map((value) => JSON.parse(JSON.stringify(value)) as unknown);
    const text = fc.tuple(fc.array(jsonObject, { maxLength: 5 }), fc.constantFrom('', ' ', '\n\r\t '), fc.boolean());
    fc.assert(
      fc.property(text, fc.array(fc.integer({ min: 1, max: 9 })), ([objects, separator, pretty], sizes) => {
        const written = objects.map((object) => JSON.stringify(object, null, pretty ? 1 : 0) + separator).join('');
        const bytes = Buffer.from(written);
        const splitter = createJsonObjectSplitter();
        const found: unknown[] = [];
        let at = 0;
        for (const size of sizes) {
          found.push(...splitter.push(bytes.subarray(at, at + size)));
          at = Math.min(at + size, bytes.length);
        }
        found.push(...splitter.push(bytes.subarray(at)));
        expect(found).toEqual(objects);
      }),
    );
  });

  test('is not misled by braces, quotes and backslashes in strings', () => {
    const value = { a: '}{"\\', 'b"': ['\\"}'] };
    expect(createJsonObjectSplitter().push(Buffer.from(JSON.stringify(value)))).toEqual([value]);
  });

  test('keeps its own copy of a part: the socket may reuse its buffer', () => {
    const splitter = createJsonObjectSplitter();
    const first = Buffer.from('{"a":');
    expect(splitter.push(first)).toEqual([]);
    first.fill(0);
    expect(splitter.push(Buffer.from('1}'))).toEqual([{ a: 1 }]);
  });

  test('refuses what is not JSON', () => {
    expect(() => createJsonObjectSplitter().push(Buffer.from('HTTP/1.1 400'))).toThrow('something else than JSON');
    expect(() => createJsonObjectSplitter().push(Buffer.from('{"a":tru}'))).toThrow('broken JSON');
  });

  test('refuses an endless object', () => {
    const limits = { ...peerLimits.switch, bytes: 40, depth: 3, values: 6 };
    const push = (text: string) => () => createJsonObjectSplitter(limits).push(Buffer.from(text));
    expect(push(`{"a":"${'a'.repeat(40)}`)).toThrow('more than 40 bytes');
    expect(push('{"a":[[[')).toThrow('JSON deeper than 3');
    expect(push('{"a":[1,2,3,4,5')).toThrow('more than 6 values');
  });
});
