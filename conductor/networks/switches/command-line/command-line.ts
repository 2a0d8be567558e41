/** Commands on a switch, one after the other. */
export interface CommandLine {
  /**
   * Answers what the switch printed, without the echo of the command and the prompt after it, lines ended by `\n`.
   * @throws AppError `switch_error` with the switch's words when it refused the command, `timeout`, `unavailable`,
   * `aborted`: after these it may or may not have been done, and the command line is closed.
   */
  run(command: string, signal?: AbortSignal): Promise<string>;
  isClosed(): boolean;
  close(): void;
}

/** How long a command may take; a commit on a large switch takes a minute. Milliseconds. */
export const commandTimeoutMs = 180_000;

/** More than any switch prints for its ports. */
export const maximumOutputBytes = 16 * 1024 * 1024;
