import { readdirSync, readFileSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import type { IPty } from '@lydell/node-pty';
import { AppError } from '#shared/errors/app-error.ts';
import { currentEnvironment } from '#shared/process/run.ts';
import type { Terminal, TerminalOptions } from '#shared/terminal/terminal.ts';

/**
 * Sends a signal to every process of a session, leader and background jobs: what a person has started on a console must
 * not go on writing to a disk while the next step works on it. A process that has made a session of its own escapes;
 * it ends with the agent.
 */
function killSession(session: number, signal: NodeJS.Signals): void {
  for (const pid of processesOf(session)) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

function processesOf(session: number): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => sessionOf(pid) === session);
}

/**
 * Reads the session of a process, field 6 of `/proc/PID/stat`; the second is the program's name in parentheses, which may
 * contain anything.
 */
function sessionOf(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[3]);
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

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

/** The stream under the package's `write`, which shows neither whether it is full nor when it has room again. */
function inputOf(pty: IPty): Duplex {
  const socket = (pty as unknown as { readonly _socket?: Duplex })._socket;
  if (typeof socket?.write === 'function') return socket;
  pty.kill();
  throw new AppError('internal', 'node-pty is another version than Baton was made for: no _socket');
}
