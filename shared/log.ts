import { type Level, type Logger, pino } from 'pino';
import { errorChain } from '#shared/errors/app-error.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';

export type Log = Logger;

/** Keys whose values never reach a log line, wherever they stand (two levels deep). */
const secretKeys = [
  'password',
  'token',
  'secret',
  'authorization',
  'agent_token',
  'agent_secret_token',
  'configdrive',
  'redfish_password',
  'ipmi_password',
  'rescue_password',
  'hashed_rescue_password',
  'auth_password',
  'driver_info',
  'driverInfo',
  'instance_info',
  'instanceInfo',
];

/**
 * Makes the root logger: JSON lines on stderr, so that stdout stays free for answers. Children carry `component`, `node` and
 * `flow` as fields; messages are constant text.
 */
export function createLog(options: {
  readonly component: string;
  readonly level?: string;
  /** Gets every line too. */
  readonly tee?: { write(line: string): void };
  /** Gets them in place of stderr. */
  readonly only?: { write(line: string): void };
}): Log {
  const level = options.level ?? 'info';
  const stderr = options.only ?? pino.destination({ fd: 2, sync: true });
  return pino(
    {
      level,
      base: { component: options.component },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`]), censor: '******' },
      // the last resort, for the words of others
      hooks: { streamWrite: maskUrlLogins },
      serializers: { err: (error: unknown) => errorChain(error) },
    },
    options.tee
      ? pino.multistream([
          { level: level as Level, stream: stderr },
          { level: level as Level, stream: options.tee },
        ])
      : stderr,
  );
}

export const silentLog: Log = pino({ level: 'silent' });
