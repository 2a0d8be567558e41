import type { WebSocket } from 'ws';
import { errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { openProgram } from '#shared/terminal/open-program.ts';
import { joinSocket, type OpenTerminal, type Terminal } from '#shared/terminal/terminal.ts';
import { endConsole, keepAlive } from '#shared/web-socket/web-socket.ts';
import type { ConsoleQuery } from '#shared/wire/console.ts';

/** Opens login shells, each behind a terminal of its own. */
export function createShellOpener(
  shell: string,
  environment: Readonly<Record<string, string | undefined>>,
): OpenTerminal {
  return (size) => openProgram({ program: shell, argv: ['-l'], environment, ...size });
}

export interface ConsoleOptions {
  readonly openTerminal: OpenTerminal;
  readonly log: Log;
  /** Aborts when the agent stops: every console ends. */
  readonly signal: AbortSignal;
}

/**
 * Puts a shell behind a WebSocket until one of the two ends: bytes as binary messages, sizes and the end as text
 * (`shared/wire/console.ts`). Resolves when the shell is gone; never rejects.
 */
export async function serveConsole(
  socket: WebSocket,
  query: ConsoleQuery,
  { openTerminal, log, signal }: ConsoleOptions,
): Promise<void> {
  keepAlive(socket);
  socket.on('error', (err) => log.warn({ err }, 'console connection failed')); // `close` follows
  socket.pause();
  let terminal: Terminal;
  try {
    terminal = await openTerminal(query);
  } catch (error) {
    log.error({ err: error }, 'console not opened');
    endConsole(socket, { reason: errorChain(error) }, 1011);
    return;
  }
  log.info({ pid: terminal.pid }, 'console opened');
  const ended = shellEnd(terminal, socket);
  joinSocket(terminal, socket);
  const onAbort = (): void => endConsole(socket, { reason: 'the agent stops' }, 1001);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  if (socket.readyState === socket.OPEN) socket.resume();
  else terminal.hangUp(); // it was closed while the terminal opened
  await ended;
  signal.removeEventListener('abort', onAbort);
  log.info({ pid: terminal.pid }, 'console closed');
}

function shellEnd(terminal: Terminal, socket: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    terminal.onExit((exitCode) => {
      endConsole(socket, { reason: `the shell ended with ${exitCode}`, exit_code: exitCode });
      resolve();
    });
  });
}
