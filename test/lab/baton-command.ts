import { resolve } from 'node:path';
import { type RunResult, run } from '#shared/process/run.ts';
import type { Lab } from '#test/lab/lab.ts';

export interface BatonOptions {
  /** Gets what it prints line by line, as it comes; the result has none then. */
  readonly onLine?: (line: string) => void;
  /** Default a minute. */
  readonly timeoutMs?: number;
  /** Its standard input. */
  readonly input?: string;
  /** Exit codes that are no failure; default 0. */
  readonly okExitCodes?: readonly number[];
}

/**
 * The command line in a process of its own, inside the lab's namespace, where the conductor is in reach.
 * @throws AppError `command_failed` with what it wrote to standard error
 */
export function baton(lab: Lab, args: readonly string[], options: BatonOptions = {}): Promise<RunResult> {
  const { onLine, ...more } = options;
  const command = ['netns', 'exec', lab.directory.namespace, process.execPath, resolve('conductor/cli/main.ts')];
  return run('ip', [...command, ...args], {
    env: { BATON_URL: lab.conductor.url },
    signal: lab.closing,
    ...(onLine ? { onStdoutLine: onLine } : {}),
    ...more,
  });
}
