import { DrizzleQueryError } from 'drizzle-orm';
import { AppError } from '#shared/errors/app-error.ts';

/** How deep drivers and we wrap what the database said. */
const maximumCauses = 8;

/**
 * The class of a database's failure: the first two characters of its SQLSTATE (`40` = serialization and deadlocks, `53`
 * = out of resources, `57` = shutting down …), `connection` when it could not be reached, `other` when it does not say;
 * `undefined` for an error that is not the database's, or that somebody has given a meaning (a duplicate is a conflict).
 */
export function databaseFaultClass(error: unknown): string | undefined {
  let cause = error;
  let isOurs = false;
  for (let depth = 0; depth < maximumCauses && cause instanceof Error; depth += 1) {
    if (cause instanceof AppError && cause.code !== 'database_error') return undefined;
    isOurs ||= cause instanceof AppError || cause instanceof DrizzleQueryError;
    const code: unknown = Reflect.get(cause, 'code');
    if (typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code)) return code.slice(0, 2);
    if (typeof code === 'string' && isConnectionFault(code, cause, isOurs)) return 'connection';
    cause = cause.cause;
  }
  return isOurs ? 'other' : undefined;
}

/** Whether the database may answer once there is another connection: it was cut, or its server shut down (`57`). */
export function isConnectionLost(error: unknown): boolean {
  return ['connection', '08', '57'].includes(databaseFaultClass(error) ?? '');
}

/**
 * Other connections are lost with the codes of sockets, a client's in the middle of its request above all; the database's
 * are `CONNECTION_LOST` (`connections.ts`).
 */
function isConnectionFault(code: string, cause: Error, isOurs: boolean): boolean {
  if (code.startsWith('CONNECT')) return true;
  const isOfQuery = isOurs || ('syscall' in cause && cause.syscall === 'connect');
  return isOfQuery && /^(ECONN|EPIPE|ENOTFOUND)/.test(code);
}
