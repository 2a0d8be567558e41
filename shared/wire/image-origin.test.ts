import { expect, test } from 'vitest';
import { describeOrigin, readOrigin } from '#shared/wire/progress.ts';

test('what the agent says is what the conductor reads', () => {
  const origin = { kept: 1_300_000_000, copied: 0, fetched: 42, neighbours: 7 };
  expect(readOrigin(`image (demo) written to device /dev/sda root_uuid=0x1 ${describeOrigin(origin)}`)).toEqual(origin);
});

test('of an older agent', () => {
  expect(readOrigin('written kept_bytes=1 copied_bytes=2 fetched_bytes=3')).toEqual({
    kept: 1,
    copied: 2,
    fetched: 3,
    neighbours: 0,
  });
});

test.each([undefined, 5, 'image (demo) written to device /dev/sda root_uuid=0x1', ' kept_bytes=-1 copied_bytes=x'])(
  '%j says nothing of it',
  (answer) => {
    expect(readOrigin(answer)).toBeUndefined();
  },
);
