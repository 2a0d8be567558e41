import { DrizzleQueryError } from 'drizzle-orm';
import { expect, test } from 'vitest';
import { databaseFaultClass } from '#conductor/kernel/db/faults.ts';
import { AppError } from '#shared/errors/app-error.ts';

const withCode = (code: string, cause?: unknown) => Object.assign(new Error('boom', { cause }), { code });

test.each([
  ['a deadlock, wrapped by drizzle', new Error('Failed query', { cause: withCode('40P01') }), '40'],
  ['a lost connection', withCode('CONNECTION_LOST'), 'connection'],
  ['no server', new AppError('database_error', 'use the database', { cause: withCode('ECONNREFUSED') }), 'connection'],
  ['one that says nothing', new AppError('database_error', 'use the database'), 'other'],
  ["a duplicate, which is the client's", new AppError('conflict', 'exists', { cause: withCode('23505') }), undefined],
  ['a BMC that is away', new AppError('unavailable', 'read power', { cause: withCode('ECONNREFUSED') }), undefined],
  ['a connection lost under a query', new DrizzleQueryError('select', [], withCode('ECONNRESET')), 'connection'],
  ['one lost as a transaction began', withCode('CONNECTION_LOST', withCode('ECONNRESET')), 'connection'],
  ['a client that hangs up in the middle of its request', withCode('ECONNRESET'), undefined],
  ['a bug', new TypeError('undefined is not a function'), undefined],
  ['no error at all', 'text', undefined],
])('%s', (_, error, expected) => {
  expect(databaseFaultClass(error)).toBe(expected);
});
