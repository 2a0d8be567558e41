import type { Duplex } from 'node:stream';
import type { IPty } from '@lydell/node-pty';
import { AppError } from '#shared/errors/app-error.ts';
import { currentEnvironment } from '#shared/process/run.ts';
import { killSession } from '#shared/terminal/kill-session.ts';
import type { Terminal, TerminalOptions } from '#shared/terminal/terminal.ts';

/** For a program that ignores the hang-up, and for what it has started. */
const hangUpGraceMs = 1000;

interface Program extends TerminalOptions {
  readonly program: string;
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Starts a program behind a terminal of its own. Beside `shared/process/run.ts` the only place that starts processes: a
 * terminal is not made of pipes.
 *
 * The package is loaded when it is first wanted: it is native code, and a ramdisk in which it does not load must deploy
 * all the same.
 * @throws AppError `not_supported` where there can be no terminal
 */
export async function openProgram({ program, argv, environment, columns, rows, term }: Program): Promise<Terminal> {
  try {
    const { spawn } = await import('@lydell/node-pty');
    const pty = spawn(program, [...argv], {
      name: term,
      cols: columns,
      rows,
      cwd: '/',
      env: { PATH: currentEnvironment()['PATH'], ...environment, TERM: term },
      encoding: null, // bytes: a character may be cut in two anywhere
    });
    return toTerminal(pty);
  } catch (cause) {
    throw new AppError('not_supported', `open a terminal for ${program}`, { cause });
  }
}

function toTerminal(pty: IPty): Terminal {
  const input = inputOf(pty);
  let hasEnded = false;
  pty.onExit(() => {
    hasEnded = true;
  });
  return {
    pid: pty.pid,
    // with `encoding: null` these are bytes, whatever the package's types say
    onOutput: (listener) => void pty.onData((bytes: unknown) => listener(bytes as Buffer)),
    onExit: (listener) => void pty.onExit(({ exitCode, signal }) => listener(signal ? 128 + signal : exitCode)),
    write: (bytes) => hasEnded || input.write(bytes),
    onDrain: (listener) => void input.on('drain', listener),
    resize: (columns, rows) => {
      if (!hasEnded) pty.resize(columns, rows); // the file descriptor may be another's by now
    },
    pause: () => pty.pause(),
    resume: () => pty.resume(),
    hangUp: () => {
      if (hasEnded) return;
      pty.resume(); // nobody hears of the end of a stream that is not read
      killSession(pty.pid, 'SIGHUP');
      const timer = setTimeout(() => killSession(pty.pid, 'SIGKILL'), hangUpGraceMs);
      timer.unref();
    },
  };
}

/** The stream under the package's `write`, which tells neither whether it is full nor when it is not any more. */
function inputOf(pty: IPty): Duplex {
  const socket = (pty as unknown as { readonly _socket?: Duplex })._socket;
  if (typeof socket?.write === 'function') return socket;
  pty.kill();
  throw new AppError('internal', 'node-pty is another version than Baton was made for: no _socket');
}
