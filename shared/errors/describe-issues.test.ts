import { expect, test } from 'vitest';
import { z } from 'zod';
import { describeIssues } from '#shared/errors/describe-issues.ts';

const Disk = z.object(
  { size: z.number('must be a number'), parts: z.array(z.string('must be text')) },
  'must be a mapping',
);

function describeRefused(value: unknown, whole?: string): string {
  const { error } = Disk.safeParse(value);
  return error ? describeIssues(error, whole) : '';
}

test('every fault is there, with its field', () => {
  expect(describeRefused({ size: 'x', parts: ['a', 1] })).toBe('size: must be a number; parts.1: must be text');
});

test('a fault of no field has the name of the whole, if there is one', () => {
  expect(describeRefused(1, 'the file')).toBe('the file: must be a mapping');
  expect(describeRefused(1)).toBe('must be a mapping');
});
