import { expect, test } from 'vitest';
import {
  type InsertBody,
  maxBodies,
  nextBody,
  plainBody,
  statedBody,
} from '#conductor/drivers/redfish/media/media-bodies.ts';
import { array, assert, constantFrom, property, subarray } from '#test/fuzz/fast-check.ts';

const url = 'https://192.0.2.9/one.iso';
const plain = plainBody(url);
const names = ['TransferProtocolType', 'TransferMethod', 'Inserted', 'WriteProtected', 'UserName', 'Password'];

/** Lists what is asked in turn, while each refusal names these. */
function asked(first: InsertBody, ...refusals: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const tried = [first];
  for (const named of refusals) {
    const next = nextBody(url, tried, new Set(named));
    if (!next) break;
    tried.push(next.body);
  }
  return tried.map((body) => Object.keys(body).filter((name) => name !== 'Image'));
}

test('what refusals name comes together, one after the other', () => {
  expect(asked(plain, ['TransferProtocolType'], ['TransferMethod'], ['Inserted'], ['WriteProtected'])).toEqual([
    [],
    ['TransferProtocolType'],
    ['TransferProtocolType', 'TransferMethod'],
    ['TransferProtocolType', 'TransferMethod', 'Inserted'],
    ['TransferProtocolType', 'TransferMethod', 'Inserted', 'WriteProtected'],
  ]);
});

test('one half of a login brings the other', () => {
  expect(asked(plain, ['UserName'])).toEqual([[], ['UserName', 'Password']]);
  expect(nextBody(url, [plain], new Set(['Password']))?.body).toEqual({
    Image: url,
    UserName: 'none',
    Password: 'none',
  });
  const own = 'https://me:h%40sh@192.0.2.9/one.iso';
  expect(nextBody(own, [plainBody(own)], new Set(['UserName']))?.body).toMatchObject({
    UserName: 'me',
    Password: 'h@sh',
  });
});

test('what a refusal names and was told is left out', () => {
  expect(asked(statedBody(url), ['Inserted'], ['WriteProtected'])).toEqual([
    ['Inserted', 'WriteProtected'],
    ['WriteProtected'],
    [],
  ]);
});

test('where nothing is named the ways of makers follow, and then none', () => {
  expect(asked(plain, [], [], [], [], [])).toEqual([
    [],
    ['TransferProtocolType', 'TransferMethod'],
    ['Inserted', 'WriteProtected'],
    ['Inserted', 'WriteProtected', 'TransferProtocolType', 'TransferMethod'],
  ]);
});

test('whatever refusals name, nothing is asked twice, the image is always named, and there is an end', () => {
  const refusals = array(subarray([...names, 'Image', 'Nothing']), { minLength: 20, maxLength: 20 });
  assert(
    property(constantFrom(plain, statedBody(url)), refusals, (first, each) => {
      const tried = [first];
      for (const named of each) {
        const next = nextBody(url, tried, new Set(named));
        if (!next) break;
        tried.push(next.body);
      }
      const keys = tried.map((body) => Object.keys(body).toSorted().join());
      expect(new Set(keys).size).toBe(tried.length);
      expect(tried.length).toBeLessThanOrEqual(maxBodies);
      expect(tried.every((body) => body['Image'] === url)).toBe(true);
    }),
  );
});
