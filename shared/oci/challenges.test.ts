import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseChallenges } from '#shared/oci/challenges.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

describe('recorded headers', async () => {
  const Challenge = z.strictObject({ scheme: z.string(), params: z.record(z.string(), z.string()) });
  const recordings = await readRecordings('images/challenges', z.array(Challenge).min(1));

  test.each(recordings.map((recording) => [recording.name, recording] as const))('%s', (_name, recording) => {
    const headers = (recording.outputs['WWW-Authenticate'] ?? '').trimEnd().split('\n');
    expect(parseChallenges(headers)).toEqual(recording.reading);
  });
});

test.each([
  ['nothing', undefined, []],
  ['an empty header', '', []],
  ['commas alone', ' , ,, ', []],
  [
    'a value without a name, and another challenge behind it',
    'Negotiate dG9rZW4=, Basic realm="x"',
    [
      ['negotiate', {}],
      ['basic', { realm: 'x' }],
    ],
  ],
  ['a value without quotes', 'Bearer realm=https', [['bearer', { realm: 'https' }]]],
  ['a name that is there twice', 'Bearer realm="a",realm="b"', [['bearer', { realm: 'a' }]]],
  ['a quote that does not end', 'Basic realm="x', [['basic', {}]]],
  ['names in capitals', 'BEARER REALM="x"', [['bearer', { realm: 'x' }]]],
])('%s', (_, header, expected) => {
  const found = parseChallenges(header).filter(({ scheme }) => ['basic', 'bearer', 'negotiate'].includes(scheme));
  expect(found.map(({ scheme, params }) => [scheme, params])).toEqual(expected);
});

test('a long header is read at once', () => {
  const long = `Bearer ${'a="b",'.repeat(1_000_000)}`;
  expect(parseChallenges(long)).toHaveLength(1);
  expect(parseChallenges(`Basic ${'='.repeat(1_000_000)}`).length).toBeLessThan(3);
});
