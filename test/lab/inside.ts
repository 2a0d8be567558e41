import { appendFileSync, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { type RunningProcess, start } from '#shared/process/run.ts';

/** A long-running program in the lab's namespace, its output in `<directory>/<name>.log`. */
export interface LabProcess {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** The exit code. */
  readonly exited: Promise<number>;
  isRunning(): boolean;
  /** Ends it and waits until it is gone: SIGTERM (or the given signal), SIGKILL after five seconds. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface LabProcessOptions {
  readonly namespace: string;
  readonly directory: string;
  readonly name: string;
  readonly env?: Readonly<Record<string, string>>;
}

const patienceMs = 5000;

/** Starts `command` inside the namespace; `ip netns exec` replaces itself, so the pid is the program's own. */
export function startLabProcess(command: string, args: readonly string[], options: LabProcessOptions): LabProcess {
  const logFile = join(options.directory, `${options.name}.log`);
  appendFileSync(logFile, `# ${command} ${args.join(' ')}\n`);
  const child: RunningProcess = start('ip', ['netns', 'exec', options.namespace, command, ...args], {
    // its own session: Ctrl-C in the terminal must reach the lab only, which then ends everything in order
    detached: true,
    ...(options.env ? { env: options.env } : {}),
  });
  const log = createWriteStream(logFile, { flags: 'a' });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  child.stdin.end();
  let running = true;
  const exited = child.exited.finally(() => {
    running = false;
    log.end();
  });
  exited.catch(() => undefined); // seen by what awaits `exited`
  return {
    name: options.name,
    pid: child.pid,
    logFile,
    exited,
    isRunning: () => running,
    stop: async (signal = 'SIGTERM') => {
      if (!running) return;
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs);
      await exited.finally(() => clearTimeout(timer));
    },
  };
}
