import type { DriverDefinition } from '#conductor/drivers/interfaces.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** @throws AppError `not_found` in Ironic's words. */
export function requireDriver({ drivers }: Pick<HttpContext, 'drivers'>, name: string): DriverDefinition {
  const type = drivers.hardwareTypes.find((each) => each.name === name);
  if (!type) throw new AppError('not_found', `Could not find the following driver(s) or hardware type(s): ${name}.`);
  return type;
}
