import { expect, test } from 'vitest';
import { newUlid, ulidAsUuid } from '#conductor/sites/actions/ulid.ts';

test('ULIDs have 26 characters, sort by time and differ', () => {
  const early = newUlid(new Date('2026-11-21T10:00:00Z'));
  const late = newUlid(new Date('2026-11-21T10:00:01Z'));
  expect(early).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  expect(early < late).toBe(true);
  expect(newUlid(new Date(0))).not.toBe(newUlid(new Date(0)));
  expect(newUlid(new Date(1_469_918_176_385)).slice(0, 10)).toBe('01ARYZ6S41'); // the specification's example
});

test('as a UUID it has the same bits', () => {
  expect(ulidAsUuid('01ARZ3NDEKTSV4RRFFQ69G5FAV')).toBe('01563e3a-b5d3-d676-4c61-efb99302bd5b');
});
