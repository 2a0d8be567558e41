import { type RunResult, run, runOnTerminal } from '#shared/process/run.ts';
import type { Lab } from '#test/lab/lab.ts';
import { batonProgram } from '#test/support/programs.ts';

export interface BatonOptions {
  /** Gets what it prints line by line, as it comes; the result has none then. */
  readonly onLine?: (line: string) => void;
  /** Default a minute. */
  readonly timeoutMs?: number;
  /** Its standard input. */
  readonly input?: string;
  /** Exit codes that are not a failure; default 0. */
  readonly okExitCodes?: readonly number[];
}

/**
 * The command line in a process of its own, inside the lab's namespace, where the conductor is in reach.
 * @throws AppError `command_failed` with what it wrote to standard error
 */
export function baton(lab: Lab, args: readonly string[], options: BatonOptions = {}): Promise<RunResult> {
  const { onLine, ...more } = options;
  return run('ip', batonArguments(lab, args), {
    ...surroundings(lab),
    ...(onLine ? { onStdoutLine: onLine } : {}),
    ...more,
  });
}

/** The same on this process's own terminal, where it draws. @returns its exit code */
export function batonOnTerminal(lab: Lab, args: readonly string[]): Promise<number> {
  return runOnTerminal('ip', batonArguments(lab, args), surroundings(lab));
}

function batonArguments(lab: Lab, args: readonly string[]): string[] {
  return ['netns', 'exec', lab.directory.namespace, batonProgram, ...args];
}

function surroundings(lab: Lab) {
  return { env: { BATON_URL: lab.conductor.url }, signal: lab.closing };
}
