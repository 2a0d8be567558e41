import { AppError } from '#shared/errors/app-error.ts';
import { start } from '#shared/process/run.ts';

/** Makes ranges of a device read as zeros, one after another. */
export interface Zeroing {
  /** In bytes. @throws AppError `command_failed`, `aborted`; what follows fails as well. */
  readonly zero: (offset: number, length: number) => Promise<void>;
  /** Resolves when what has begun is finished, and nothing more will be zeroed. */
  end(): Promise<void>;
}

const mostMs = 600_000;
/** By its path: busybox's shell would run its own, which lacks these options. */
const program = '/sbin/blkdiscard';
/** --force: we hold the disk exclusively ourselves. */
const script =
  'while read -r offset length; do "$0" --force --zeroout --offset "$offset" --length "$length" "$1" && echo || exit; done';

/**
 * By a shell that stays: for this process, with its memory, to start a program takes ten milliseconds in which it does
 * nothing else; for a shell, one.
 */
export function startZeroing(device: string, signal: AbortSignal | undefined, blkdiscard = program): Zeroing {
  const shell = start('sh', ['-c', script, blkdiscard, device], signal ? { signal } : {});
  const waiting: { readonly range: string; readonly ended: PromiseWithResolvers<void> }[] = [];
  const state = { failure: undefined as unknown, said: '' };
  const fail = (cause: unknown): void => {
    state.failure ??= cause;
    for (const { range, ended } of waiting.splice(0)) {
      ended.reject(new AppError('command_failed', `zero ${range} of ${device}`, { cause: state.failure }));
    }
  };
  shell.stdout.on('data', (answers: Buffer) => {
    for (const { ended } of waiting.splice(0, answers.length)) ended.resolve();
  });
  shell.stderr.on('data', (text: Buffer) => {
    state.said = `${state.said}${text.toString()}`.slice(-2000);
  });
  shell.stdin.on('error', () => undefined); // it has ended: `exited` says why
  // it has ended when all that holds its output has: a call that the kernel is busy with, too
  shell.exited.then((code) => fail(state.said.trim() || `blkdiscard exited with ${code}`), fail);
  return {
    zero: async (offset, length) => {
      const ended = Promise.withResolvers<void>();
      waiting.push({ range: `${length} bytes at byte ${offset}`, ended });
      if (state.failure !== undefined) fail(state.failure);
      shell.stdin.write(`${offset} ${length}\n`);
      const timer = setTimeout(() => shell.kill('SIGKILL'), mostMs);
      await ended.promise.finally(() => clearTimeout(timer));
    },
    end: async () => {
      shell.stdin.end();
      await shell.exited.catch(() => undefined); // anyone who asked for a range has heard of it
    },
  };
}
