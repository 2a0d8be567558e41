import { runCommand } from '#conductor/cli/commands.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';

type Answer = Json | undefined | Error;

/** `baton` with a conductor that answers as instructed, for tests. */
export interface RecordingTerminal {
  /** Runs a command and answers what it printed; throws what it throws. */
  run(...args: string[]): Promise<string>;
  /** Gives what it printed before it failed. */
  readonly printed: () => string;
  /** `METHOD path`, and the body where there is one. */
  readonly calls: (readonly [string] | readonly [string, unknown])[];
}

/** @param answer to `METHOD path`; an Error is thrown */
export function createRecordingTerminal(answer: (request: string, body: unknown) => Answer): RecordingTerminal {
  const calls: RecordingTerminal['calls'] = [];
  let output = '';
  let now = 0;
  const call = (method: string, path: string, body?: unknown): Promise<Json | undefined> => {
    const request = `${method} ${path}`;
    calls.push(body === undefined ? [request] : [request, body]);
    const answered = answer(request, body);
    return answered instanceof Error ? Promise.reject(answered) : Promise.resolve(answered);
  };
  return {
    calls,
    printed: () => output,
    run: async (...args) => {
      output = '';
      await runCommand(
        {
          describeSettings: () => Promise.resolve([]),
          screen: {
            write: (text) => void (output += String(text)),
            isTerminal: false,
            size: () => ({ columns: 80, rows: 24 }),
          },
          clock: { now: () => new Date(now), sleep: (ms) => Promise.resolve(void (now += ms)) },
          connect: () => ({
            client: { call, download: () => Promise.reject(new Error('no downloads here')) },
            openConsole: () => Promise.reject(new Error('no console here')),
          }),
        },
        args,
      );
      return output;
    },
  };
}
