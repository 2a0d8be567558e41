import { type CommandTerminal, runCommand } from '#conductor/cli/commands.ts';
import { createApiClient, waitForLock } from '#conductor/cli/shell/api-client.ts';
import { readClientSettings } from '#conductor/cli/shell/client-settings.ts';
import { wantsColours } from '#conductor/cli/shell/colours.ts';
import type { ConductorParts } from '#conductor/cli/shell/command.ts';
import { notifyOfSilence, whyNotReady } from '#conductor/cli/shell/notify-of-silence.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

/** Exit codes of `baton`, and what a script may make of them; docs/command-line.md has the table. */
const exitCodes = {
  /** The conductor refused, or what was asked for has failed. */
  failed: 1,
  /** Bad usage, or a file or setting that can't be used: nothing was sent. */
  usage: 2,
  /** No conductor answers, or it can't answer now: the same command may succeed later. */
  unavailable: 3,
  /** The waiting has ended, not the work. */
  timeout: 4,
} as const;

export function exitCodeOf(error: unknown): number {
  if (!(error instanceof AppError)) return exitCodes.failed;
  if (error.details['usage'] === true) return exitCodes.usage;
  if (error.code === 'unavailable') return exitCodes.unavailable;
  return error.code === 'timeout' ? exitCodes.timeout : exitCodes.failed;
}

export function runBaton(parts: ConductorParts): void {
  // `baton node list | head`: who reads has seen enough
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(141); // as by SIGPIPE: what it would have said about the work is not known
  });

  const notify = (line: string) => void process.stderr.write(`${line}\n`);
  const screen = {
    write: (output: string | Uint8Array) => process.stdout.write(output),
    isTerminal: process.stdout.isTTY,
    hasColours: wantsColours(process.stdout.isTTY, process.env),
    // a terminal that does not know its size says 0
    size: () => ({ columns: process.stdout.columns || 80, rows: process.stdout.rows || 24 }),
  };

  const commandTerminal: CommandTerminal = {
    screen,
    clock: systemClock,
    imagesDirectory: process.env['BATON_IMAGES_DIR'] || undefined,
    registryEnvironment: process.env,
    notify,
    ...parts,
    onInterrupt: () => {
      const controller = new AbortController();
      process.once('SIGINT', () => controller.abort());
      return controller.signal;
    },
    connect: (choice) => {
      const settings = readClientSettings(process.env, choice);
      const silence = { url: settings.url, clock: systemClock, notify, askWhy: whyNotReady(settings) };
      const client = waitForLock(notifyOfSilence(createApiClient(settings), silence), { clock: systemClock, notify });
      const terminal = { input: process.stdin, output: process.stdout, term: process.env['TERM'] };
      return {
        client,
        openConsole: async (ident, kind) => {
          const { openConsole } = await import('#conductor/cli/console.ts');
          await openConsole({ client, settings }, ident, terminal, kind);
        },
      };
    },
  };

  runCommand(commandTerminal, process.argv.slice(2)).catch((error: unknown) => {
    process.stderr.write(`baton: ${errorChain(error)}\n`);
    process.exitCode = exitCodeOf(error);
  });
}
