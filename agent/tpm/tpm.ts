import { baseCode, describeCode } from '#agent/tpm/response-codes.ts';
import {
  type CommandName,
  decodeAnswer,
  encodeCommand,
  type TpmAnswer,
  type TpmCommand,
} from '#agent/tpm/tpm-command.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { inTime } from '#shared/in-time.ts';
import type { Log } from '#shared/log.ts';
import { retry } from '#shared/retry.ts';
import { numbers } from '#shared/tpm/write-fields.ts';

/** Way to a TPM: one command at a time. */
export interface TpmTransport {
  /** Sends a command's bytes, resolves with those of its answer. */
  exchange(command: Buffer): Promise<Buffer>;
  /** Never rejects, and never waits for an exchange. */
  close(): void;
}

/** A TPM 2.0, with the keys and sessions that were made in it. */
export interface Tpm {
  /**
   * Runs one command with its handles and parameters.
   * @throws AppError `timeout` (the TPM hangs: nothing more is sent to it), `agent_error` (it refuses; `details` has the
   * `response_code`), `aborted`
   */
  execute(command: TpmCommand): Promise<TpmAnswer>;
  /** Flushes all that was made in it. Never rejects. */
  close(): Promise<void>;
}

/** Milliseconds that commands may take; a discrete TPM searches primes for an RSA key for up to a minute. */
export interface TpmLimits {
  readonly commandMs: number;
  readonly makeKeyMs: number;
}

const tpmLimits: TpmLimits = { commandMs: 20_000, makeKeyMs: 120_000 };

/** Milliseconds between tries of a command that the TPM was too busy for, and how often it is tried again. */
const busy = { codes: [0x908, 0x90a, 0x922], waitMs: 100, tries: 50 } as const;

/** Opens a TPM over a transport, which is its own from then on. */
export function createTpm(
  transport: TpmTransport,
  { log, signal, limits = tpmLimits }: { readonly log: Log; readonly signal: AbortSignal; readonly limits?: TpmLimits },
): Tpm {
  const made = new Set<number>();
  let hangs = false;

  const exchange = async (name: CommandName, bytes: Buffer): Promise<Buffer> => {
    const limitMs = name === 'TPM2_CreatePrimary' ? limits.makeKeyMs : limits.commandMs;
    const late = { code: 'timeout', message: `the TPM has not answered ${name} in ${limitMs / 1000} s` } as const;
    try {
      return await inTime(untilAborted(transport.exchange(bytes), signal), limitMs, late);
    } catch (error) {
      // an answer that comes later would be taken for the next command's
      hangs = true;
      throw error;
    }
  };
  const askOnce = async (command: TpmCommand): Promise<TpmAnswer> => {
    const { code, answer } = decodeAnswer(command.name, await exchange(command.name, encodeCommand(command)));
    if (code === 0) return answer;
    throw new AppError('agent_error', `the TPM refuses ${command.name}: ${describeCode(code)}`, {
      details: { response_code: baseCode(code) },
    });
  };
  const ask = (command: TpmCommand): Promise<TpmAnswer> =>
    retry(() => askOnce(command), {
      attempts: busy.tries + 1,
      passes: (error) => busy.codes.some((code) => hasRefusedWith(error, code)),
      delayMs: () => busy.waitMs,
    });
  return {
    execute: async (command) => {
      if (hangs) throw new AppError('timeout', `the TPM hangs, ${command.name} is not sent to it`);
      signal.throwIfAborted();
      const answer = await ask(command);
      if (answer.handle !== undefined) made.add(answer.handle);
      // a policy session ends with the command that it authorizes
      for (const session of command.sessions ?? []) made.delete(session);
      return answer;
    },
    close: async () => {
      try {
        for (const handle of made) {
          if (hangs) break;
          await ask({ name: 'TPM2_FlushContext', parameters: [numbers([handle, 4])] });
        }
      } catch (error) {
        log.warn({ err: error }, 'a key stays in the TPM');
      }
      transport.close();
    },
  };
}

/** Whether a TPM has refused with this code, whatever parameter it is about. */
export function hasRefusedWith(error: unknown, code: number): boolean {
  return error instanceof AppError && error.details['response_code'] === code;
}

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: left, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(new AppError('aborted', 'the TPM was left', { cause: signal.reason }));
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, left]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
