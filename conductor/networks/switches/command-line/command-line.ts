import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';

/** Commands on a switch, over whichever transport. */
export interface CommandLine {
  /**
   * One after the other, up to one that is refused. Answers what the switch printed for each, without echo and prompt, lines
   * ended by `\n`.
   * @throws AppError `switch_error` with the switch's words when it refused a command; `timeout`, `unavailable`,
   * `aborted`: after these it may or may not have been done, and the command line is closed.
   */
  run(commands: readonly string[], signal?: AbortSignal): Promise<string[]>;
  isClosed(): boolean;
  close(): void;
}

/** Logs in. */
export type OpenCommandLine = (access: SwitchAccess, signal: AbortSignal | undefined) => Promise<CommandLine>;

/** For a transport that takes a command at a time. */
export function oneByOne(
  run: (command: string, signal: AbortSignal | undefined) => Promise<string>,
): CommandLine['run'] {
  return async (commands, signal) => {
    const outputs: string[] = [];
    for (const command of commands) outputs.push(await run(command, signal));
    return outputs;
  };
}

/** How long a command may take; a commit on a large switch takes a minute. Milliseconds. */
export const commandTimeoutMs = 180_000;

/** Shortens a switch's words for an error. */
export const shortenAnswer = (words: string): string => words.trim().slice(0, 500);

/** More than any switch prints for its ports. */
export const maximumOutputBytes = 16 * 1024 * 1024;
