import type { ValidationTargets } from 'hono';
import type { ZodError } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';

type Issue = ZodError['issues'][number];

/**
 * A request that its schema refuses, as the answer that names each field and what would be right.
 * @returns AppError `invalid_argument` (400).
 */
export function invalidRequest(target: keyof ValidationTargets, error: Pick<ZodError, 'issues'>): AppError {
  const faults = error.issues.map((issue) => faultOf(target, issue));
  return new AppError('invalid_argument', faults.join('; '));
}

function faultOf(target: keyof ValidationTargets, issue: Issue): string {
  if (issue.code === 'unrecognized_keys')
    return `Unexpected arguments: ${issue.keys.map((key) => [...issue.path, key].join('.')).join(', ')}`;
  const where = issue.path.join('.');
  const missing = issue.code === 'invalid_type' && issue.message.includes('received undefined');
  if (missing && where !== '') return `Missing mandatory parameter: ${where}`;
  const place = where || (target === 'json' ? 'body' : target);
  return `Invalid ${target === 'json' ? 'body' : target}: ${place}: ${issue.message}`;
}
