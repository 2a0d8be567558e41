import { type Logger, pino } from 'pino';
import { errorChain } from '#shared/errors/app-error.ts';

export type Log = Logger;

/** Keys whose values never reach a log line, wherever they stand (two levels deep). */
const secretKeys = ['password', 'agent_token', 'token', 'configdrive', 'redfish_password', 'ipmi_password'];

/**
 * The root logger: JSON lines on stderr, so that stdout stays free for answers. Children carry `component`, `node`
 * and `flow` as fields; messages are constant text.
 */
export function createLog(options: { readonly component: string; readonly level?: string }): Log {
  return pino(
    {
      level: options.level ?? 'info',
      base: { component: options.component },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`]), censor: '******' },
      serializers: { err: (error: unknown) => errorChain(error) },
    },
    pino.destination({ fd: 2, sync: true }),
  );
}

export const silentLog: Log = pino({ level: 'silent' });
