import type { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';

/** @throws AppError `switch_error` for what is not JSON, or other JSON than the schema's. */
export function parseAnswer<Schema extends z.ZodType>(schema: Schema, text: string | undefined): z.infer<Schema> {
  try {
    return schema.parse(JSON.parse(text ?? ''));
  } catch (cause) {
    throw notUnderstood('is not what was asked for', text ?? '', cause);
  }
}

/**
 * Makes the refusal of an answer without which no port's state is known.
 * @param how `is not what was asked for`
 */
export function notUnderstood(how: string, answer: string, cause?: unknown): AppError {
  const said = answer.trim() === '' ? 'nothing' : answer.trim().slice(0, 200);
  return new AppError('switch_error', `the switch's answer ${how}: ${said}`, { cause });
}
