import type { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';

/** @throws AppError `switch_error` for what is not JSON, or other JSON than the schema's. */
export function parseAnswer<Schema extends z.ZodType>(schema: Schema, text: string | undefined): z.infer<Schema> {
  try {
    return schema.parse(JSON.parse(text ?? ''));
  } catch (cause) {
    throw new AppError('switch_error', `the switch's answer is not what was asked for: ${(text ?? '').slice(0, 200)}`, {
      cause,
    });
  }
}
