import { expect, test } from 'vitest';
import { AppError, errorChain, errorCode, isRetryable } from '#shared/errors/app-error.ts';

test('the chain is told outermost first, each part once', () => {
  const inner = new Error('device is busy');
  const middle = new AppError('storage_error', 'open /dev/vda', { cause: inner });
  const outer = new AppError('storage_error', 'write image', { cause: middle });
  expect(errorChain(outer)).toBe('write image: open /dev/vda: device is busy');
  expect(errorChain(new AppError('internal', 'same', { cause: new Error('same') }))).toBe('same');
  expect(errorChain('text')).toBe('text');
});

test('the parameters of a failed query are not told', () => {
  const failed = Object.assign(new Error('Failed query: insert … params: hunter2'), {
    query: 'insert',
    params: ['hunter2'],
  });
  expect(errorChain(new AppError('database_error', 'use the database', { cause: failed }))).toBe(
    'use the database: database query failed',
  );
});

test('text can be stored whatever a machine answers', () => {
  expect(errorChain(new Error('a\u0000b'))).toBe('a\uFFFDb');
});

test('code and retry come from the first AppError of the chain', () => {
  const error = new Error('outer', { cause: new AppError('unavailable', 'inner') });
  expect(errorCode(error)).toBe('unavailable');
  expect(errorCode(new TypeError('bug'))).toBe('internal');
  expect(isRetryable(new AppError('unavailable', 'x'))).toBe(true);
  expect(isRetryable(new AppError('bmc_error', 'x'))).toBe(false);
});
