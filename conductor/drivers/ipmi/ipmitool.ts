import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import type { IpmiBridge, IpmiConnection } from '#conductor/drivers/ipmi/driver-info.ts';
import type { PowerState } from '#conductor/model/power-and-boot.ts';
import { type Clock, overdueTimers } from '#shared/clock.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { type OutboundRules, resolveOutbound } from '#shared/peers/outbound-url.ts';
import type { Run } from '#shared/process/run.ts';
import { backOffMs, retry } from '#shared/retry.ts';

/** Lets one call at a time through for each key, with a pause between the end of one and the start of the next. */
interface Turns {
  take<T>(key: string, signal: AbortSignal, act: () => Promise<T>): Promise<T>;
}

export function createTurns(clock: Clock, minSpacingMs: number): Turns {
  const last = new Map<string, Promise<number>>();
  return {
    take: async (key, signal, act) => {
      const before = last.get(key);
      const ended = Promise.withResolvers<number>();
      last.set(key, ended.promise);
      try {
        const endedAt = await before;
        const wait = endedAt === undefined ? 0 : endedAt + minSpacingMs - clock.now().getTime();
        if (wait > 0) await clock.sleep(wait, signal);
        return await act();
      } finally {
        ended.resolve(clock.now().getTime());
      }
    },
  };
}

/** All that is known about the program `ipmitool` (1.8.18 and later): its arguments, its texts, its moods. */

export interface IpmitoolContext {
  readonly run: Run;
  readonly clock: Clock;
  readonly log: Log;
  readonly turns: Turns;
  /** Milliseconds before the second try, doubled each time. */
  readonly retryMs: number;
  readonly attempts: number;
  /** Where BMCs may be; `undefined` = anywhere. */
  readonly outbound?: OutboundRules | undefined;
}

/** Milliseconds for one ipmitool process; its own retries (`-R 5 -N 2`) are over well before. */
const processTimeoutMs = 60_000;

/** Meaning of ipmitool's words. */
export type IpmiFault = 'login refused' | 'no session' | 'busy' | 'no answer' | 'not ready' | 'no such date';

/**
 * The first that fits, whatever the case. `busy` and `no answer` pass by themselves: the BMC has another session or lost a
 * packet (Ironic's `IPMITOOL_RETRYABLE_FAILURES`); ipmitool says "unable to establish" after wrong credentials, too.
 */
const faults: readonly { readonly fault: IpmiFault; readonly texts: readonly string[] }[] = [
  {
    fault: 'login refused',
    texts: [
      'RAKP 2 message indicates an error',
      'RAKP 2 HMAC is invalid',
      'RAKP 4 message has invalid',
      'unauthorized name',
      'Invalid user name',
      'Authentication type',
      'no matching cipher suite',
    ],
  },
  { fault: 'no session', texts: ['Unable to establish'] },
  { fault: 'busy', texts: ['insufficient resources for session', 'Node busy', 'Out of space'] },
  // of a request that was answered ipmitool says "… failed: …"
  {
    fault: 'no answer',
    texts: [
      'Timeout',
      'Error sending request',
      'No valid response received',
      'No valid request received',
      'Unable to get Chassis Power Status',
      'Unable to set Chassis Power Control',
    ],
  },
  // OpenBMC has no better word while it boots (openbmc issue 1810)
  { fault: 'not ready', texts: ['BMC initialization in progress', 'Unspecified error'] },
  { fault: 'no such date', texts: ['could not be parsed'] },
];

/** From the words of a program that failed; `undefined` = they are the BMC's refusal, or not known. */
function faultIn(output: string): IpmiFault | undefined {
  const words = output.toLowerCase();
  return faults.find(({ texts }) => texts.some((text) => words.includes(text.toLowerCase())))?.fault;
}

/** The fault behind an error of `ipmitool`, if its words are known. */
export function ipmiFaultOf(error: unknown): unknown {
  return error instanceof AppError ? error.details['fault'] : undefined;
}

function mayHaveActed(error: unknown): boolean {
  return error instanceof AppError && error.details['sent'] === true;
}

/** Milliseconds that a BMC may need to boot (Ironic's `[ipmi]command_retry_timeout`). */
const notReadyMs = 60_000;

/**
 * Runs `ipmitool -I lanplus … COMMAND` against a BMC, one process at a time for each BMC (several sessions at once
 * make many of them answer nonsense), and again after a transient failure.
 * @throws AppError `unavailable` (BMC does not answer or is busy), `bmc_error` (refused), `timeout`, `aborted`,
 * `command_failed` (ipmitool is not installed).
 */
export async function ipmitool(
  context: IpmitoolContext,
  connection: IpmiConnection,
  command: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const what = `ipmitool ${command.join(' ')} at ${connection.address}:${connection.port}`;
  const { clock, log, attempts, retryMs } = context;
  try {
    return await retry(
      () =>
        runOnce(context, connection, command, signal).catch((cause: unknown) => {
          throw bmcFailure(what, cause);
        }),
      {
        clock,
        signal,
        passes: (error, attempt) => {
          // a press of the button that may have happened is not followed by another
          if (command[1] === 'soft' && mayHaveActed(error)) return false;
          return ipmiFaultOf(error) === 'not ready' || (errorCode(error) === 'unavailable' && attempt < attempts);
        },
        withinMs: notReadyMs,
        delayMs: (attempt) => backOffMs({ firstMs: retryMs, mostMs: 8 * retryMs }, attempt),
        onRetry: (err, attempt) => log.debug({ err, bmc: connection.address, attempt }, 'ipmitool failed; retrying'),
      },
    );
  } catch (error) {
    throw signal.aborted ? stoppedError(signal, what) : error;
  }
}

async function runOnce(
  context: IpmitoolContext,
  connection: IpmiConnection,
  command: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const { password } = connection;
  return context.turns.take(`${connection.address}:${connection.port}`, signal, async () => {
    await overdueTimers();
    // ipmitool would look the name up again, and may be led elsewhere
    const address = context.outbound ? await resolveOutbound(connection.address, context.outbound) : connection.address;
    signal.throwIfAborted();
    const result = await context.run('ipmitool', ipmitoolArgs({ ...connection, address }, command), {
      // both names: -E prefers the first, which somebody may have set for the conductor
      // it shows and reads BMCs' clocks as local time, in the words of the locale
      env: { IPMITOOL_PASSWORD: password, IPMI_PASSWORD: password, TZ: 'UTC', LC_ALL: 'C' },
      secrets: password === '' ? [] : [password],
      judge: (output) => ({ fault: faultIn(output) }),
      timeoutMs: processTimeoutMs,
      signal,
      log: context.log,
    });
    return result.stdout;
  });
}

/** For what `run` is not for: a program that talks with a person. */
export async function ipmitoolProgram(
  { outbound }: Pick<IpmitoolContext, 'outbound'>,
  connection: IpmiConnection,
  command: readonly string[],
) {
  const { password } = connection;
  const address = outbound ? await resolveOutbound(connection.address, outbound) : connection.address;
  return {
    program: 'ipmitool',
    argv: ipmitoolArgs({ ...connection, address }, command),
    environment: { IPMITOOL_PASSWORD: password, IPMI_PASSWORD: password },
  };
}

/** The password is not among them: every user of the machine can read a process's arguments. */
function ipmitoolArgs(connection: IpmiConnection, command: readonly string[]): readonly string[] {
  const { address, port, username, cipherSuite, privilegeLevel, bridge } = connection;
  return [
    '-I',
    'lanplus',
    '-H',
    address,
    '-p',
    String(port),
    '-L',
    privilegeLevel,
    ...(username === undefined ? [] : ['-U', username]),
    ...(cipherSuite === undefined ? [] : ['-C', String(cipherSuite)]),
    ...(bridge === undefined ? [] : bridgeArgs(bridge)),
    '-R',
    '5',
    '-N',
    '2',
    '-E',
    ...command,
  ];
}

function bridgeArgs({ localAddress, transit, target }: IpmiBridge): readonly string[] {
  const through = transit === undefined ? [] : ['-B', transit.channel, '-T', transit.address];
  return ['-m', localAddress, ...through, '-b', target.channel, '-t', target.address];
}

function bmcFailure(what: string, cause: unknown): AppError {
  if (cause instanceof AppError && cause.code === 'forbidden') return cause;
  if (cause instanceof AppError && cause.code === 'unavailable') {
    return new AppError('unavailable', `${what} was not sent`, { cause });
  }
  if (cause instanceof AppError && cause.code === 'timeout') {
    return new AppError('unavailable', `${what} was not answered`, {
      cause,
      details: { sent: true },
      situation: 'bmc_silent',
    });
  }
  if (cause instanceof AppError && cause.code === 'command_failed' && cause.details['exitCode'] === undefined) {
    return new AppError('command_failed', `${what} could not run; is ipmitool installed?`, { cause });
  }
  const fault = ipmiFaultOf(cause);
  const details = { fault };
  if (fault === 'login refused') {
    const hint = 'ipmi_username, ipmi_password, ipmi_priv_level or ipmi_cipher_suite is wrong';
    return new AppError('bmc_error', `${what} was refused: ${hint}`, { cause, details, situation: 'bmc_login' });
  }
  if (fault === 'no session') {
    const hint = 'the BMC is away or busy, or ipmi_username, ipmi_password or ipmi_cipher_suite is wrong';
    return new AppError('unavailable', `${what} got no session: ${hint}`, { cause, details });
  }
  if (fault === 'no answer' || fault === 'busy') {
    return new AppError('unavailable', `${what} failed`, { cause, details: { fault, sent: fault === 'no answer' } });
  }
  return new AppError('bmc_error', `${what} failed`, { cause, details });
}

/** From `power status`: `Chassis Power is on`. */
export function parsePowerStatus(text: string): PowerState | undefined {
  const state = /Chassis Power is (on|off)\b/i.exec(text)?.[1]?.toLowerCase();
  if (state === undefined) return undefined;
  return state === 'on' ? 'power on' : 'power off';
}
