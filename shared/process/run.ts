import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { hideSecrets, mask } from '#shared/secret-words.ts';

/** The only file that starts processes: an argv, never a shell. */

export interface RunOptions {
  /** Milliseconds until the process is killed; default 60,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** Text or bytes for standard input. */
  readonly input?: string | Uint8Array;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Exit codes that count as success; default `[0]`. */
  readonly okExitCodes?: readonly number[];
  /** Gets standard output line by line as it comes; the result has none then, and of stderr the last 64 KiB. */
  readonly onStdoutLine?: (line: string) => void;
  /** Gets standard error line by line as it comes, beside what the result and an error have of it. */
  readonly onStderrLine?: (line: string) => void;
  /**
   * The program gets a process group of its own, all of which is killed when it ends, is stopped or takes too long: for
   * scripts, whose own children would go on otherwise.
   */
  readonly ownGroup?: boolean;
  readonly log?: Log;
  /** Arguments that must not reach a log or an error, such as passwords. */
  readonly secrets?: readonly string[];
  /** Details of the error of a program that failed, by its words as they are: those of the error have no secrets any more. */
  readonly judge?: (output: string) => Readonly<Record<string, unknown>>;
}

export interface RunResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
  readonly durationMs: number;
}

export type Run = (command: string, args: readonly string[], options?: RunOptions) => Promise<RunResult>;

const maxErrorText = 2000;

/**
 * Runs a program to its end and returns its output as text.
 * @throws AppError `command_failed` when it can't be started or exits with another code than expected,
 * `timeout` when it took too long (it is killed), `aborted` when the signal fired. Output stands in the message.
 */
export const run: Run = async (command, args, options = {}) => {
  const started = performance.now();
  const name = describe(command, args, options.secrets);
  options.log?.debug({ argv: name }, 'command started');
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd: options.cwd,
    detached: options.ownGroup ?? false,
    env: options.env ? { ...currentEnvironment(), ...options.env } : undefined,
  });
  const { onStdoutLine } = options;
  const stdout = onStdoutLine ? forwardLines(child.stdout, onStdoutLine) : collect(child.stdout);
  const stderr = collect(child.stderr, onStdoutLine ? 64 * 1024 : Number.POSITIVE_INFINITY);
  if (options.onStderrLine) forwardLines(child.stderr, options.onStderrLine);
  // a program that exits without reading its input closes the pipe; its exit code says whether that was right
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const kill = options.ownGroup ? (): void => killGroup(child) : (): void => void child.kill('SIGKILL');
  if (options.ownGroup) endWithItself(child, kill);
  const exitCode = await waitForExit(child, { name, kill }, options.timeoutMs ?? 60_000, options.signal);
  const result = { stdout: stdout(), stderr: stderr(), exitCode, durationMs: performance.now() - started };
  options.log?.debug({ argv: name, exitCode, durationMs: Math.round(result.durationMs) }, 'command ended');
  if (!(options.okExitCodes ?? [0]).includes(exitCode)) {
    const words = result.stderr.trim() || result.stdout.trim();
    const output = hideSecrets(() => options.secrets ?? [])(words).slice(-maxErrorText);
    throw new AppError('command_failed', `${name} exited with ${exitCode}${output ? `: ${output}` : ''}`, {
      details: { ...options.judge?.(words), exitCode },
    });
  }
  return result;
};

export interface RunningProcess {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves with the exit code (128 + signal number when killed by one), rejects when it could not be started. */
  readonly exited: Promise<number>;
  kill(signal?: NodeJS.Signals): void;
}

/** Starts a long-running or streaming program; the caller owns its streams and its end. */
export function start(
  command: string,
  args: readonly string[],
  options: Pick<RunOptions, 'env' | 'cwd' | 'signal'> & { readonly detached?: boolean } = {},
): RunningProcess {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd: options.cwd,
    detached: options.detached ?? false,
    env: options.env ? { ...currentEnvironment(), ...options.env } : undefined,
  });
  const kill = (): void => void child.kill('SIGKILL');
  const exited = waitForExit(child, { name: describe(command, args), kill }, undefined, options.signal);
  exited.catch(() => undefined); // awaiting `exited` throws it; callers need not
  return {
    pid: child.pid ?? -1,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exited,
    kill: (signal = 'SIGTERM') => {
      child.kill(signal);
    },
  };
}

/**
 * Starts a program that may outlive this process, with a session of its own, so that Ctrl-C does not reach it.
 * @param options.logFile gets what it writes, appended
 * @returns its process number
 * @throws AppError `command_failed` when it could not be started.
 */
export async function startDetached(
  [command, ...args]: readonly [command: string, ...args: string[]],
  options: { readonly cwd: string; readonly logFile: string; readonly env?: Readonly<Record<string, string>> },
): Promise<number> {
  const log = await open(options.logFile, 'a', 0o600);
  try {
    const child = spawn(command, args, {
      stdio: ['ignore', log.fd, log.fd],
      cwd: options.cwd,
      detached: true,
      ...(options.env ? { env: { ...options.env } } : {}),
    });
    child.unref();
    await new Promise((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (cause) => {
        reject(new AppError('command_failed', `${describe(command, args)} could not be started`, { cause }));
      });
    });
    return child.pid as number;
  } finally {
    await log.close();
  }
}

/**
 * Runs a program on this process's own terminal, which it reads from and draws on.
 * @param options.forwards signals to this process that end the program, and this process only with it
 * @returns the exit code, whatever it is
 * @throws AppError `command_failed` when it could not be started, `aborted` when the signal fired
 */
export function runOnTerminal(
  command: string,
  args: readonly string[],
  options: Pick<RunOptions, 'env' | 'cwd' | 'signal'> & { readonly forwards?: readonly NodeJS.Signals[] } = {},
): Promise<number> {
  const child = spawn(command, args, {
    stdio: 'inherit',
    cwd: options.cwd,
    env: options.env ? { ...currentEnvironment(), ...options.env } : undefined,
  });
  const kill = (): void => void child.kill('SIGKILL');
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  const { forwards = [] } = options;
  for (const each of forwards) process.on(each, forward);
  return waitForExit(child, { name: describe(command, args), kill }, undefined, options.signal).finally(() => {
    for (const each of forwards) process.off(each, forward);
  });
}

function waitForExit(
  child: ChildProcess,
  { name, kill }: { readonly name: string; readonly kill: () => void },
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let failure: AppError | undefined;
    const stop = (error: AppError): void => {
      failure = error;
      kill();
    };
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => stop(new AppError('timeout', `${name} took longer than ${timeoutMs} ms`)), timeoutMs);
    const onAbort = (): void => stop(new AppError('aborted', `${name} was stopped`, { cause: signal?.reason }));
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    // once it has ended it neither takes too long nor can be stopped, and its number may be another's
    const settle = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    child.once('exit', settle);
    child.once('error', (cause) => {
      settle();
      reject(new AppError('command_failed', `${name} could not be started`, { cause }));
    });
    child.once('close', (code, killedBy) => {
      settle();
      if (failure) reject(failure);
      else resolve(code ?? 128 + (killedBy === null ? 0 : constants.signals[killedBy]));
    });
  });
}

function collect(stream: Readable, maxBytes = Number.POSITIVE_INFINITY): () => string {
  let chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    if (size < 2 * maxBytes) return;
    chunks = [Buffer.concat(chunks).subarray(-maxBytes)];
    size = maxBytes;
  });
  return () => {
    const bytes = Buffer.concat(chunks);
    return (bytes.length > maxBytes ? bytes.subarray(-maxBytes) : bytes).toString('utf8');
  };
}

/** A line longer than this is passed on in pieces. */
const maxLineLength = 1024 * 1024;

function forwardLines(stream: Readable, onLine: (line: string) => void): () => string {
  let rest = '';
  // others may read the same stream as bytes
  const decoder = new StringDecoder('utf8');
  stream.on('data', (bytes: Buffer) => {
    const lines = (rest + decoder.write(bytes)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    if (rest.length < maxLineLength) return;
    onLine(rest);
    rest = '';
  });
  stream.once('end', () => {
    rest += decoder.end();
    if (rest) onLine(rest);
  });
  return () => '';
}

/**
 * Time for last output: a process that has left the group, a daemon in a session of its own, may hold the program's
 * output open for ever.
 */
const lastOutputMs = 1000;

/** The program's end is the end: the rest of its group goes, and nobody waits for what others might still write. */
function endWithItself(child: ChildProcess, kill: () => void): void {
  child.once('exit', () => {
    kill();
    const timer = setTimeout(() => {
      child.stdout?.destroy();
      child.stderr?.destroy();
    }, lastOutputMs);
    child.once('close', () => clearTimeout(timer));
  });
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function describe(command: string, args: readonly string[], secrets?: readonly string[]): string {
  // an argument is a secret or is none, and may hold one
  const hide = hideSecrets(() => secrets ?? []);
  return [command, ...args.map((arg) => (secrets?.includes(arg) ? mask : hide(arg)))].join(' ');
}

/** Returns the environment of programs, also for the one other place that starts processes, `shared/terminal`. */
export function currentEnvironment(): NodeJS.ProcessEnv {
  // oxlint-disable-next-line node/no-process-env -- a child gets our environment plus what the caller adds
  return process.env;
}
