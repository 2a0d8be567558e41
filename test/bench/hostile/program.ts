import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { start } from '#shared/process/run.ts';

/** A script beside this file in a process of its own, as `watch-health.ts`. */
export interface BenchProgram {
  /** Until it has printed its first line. */
  ready(): Promise<void>;
  /** Ends it by SIGTERM. @returns all that it printed @throws Error with what it said when it failed */
  end(): Promise<string>;
}

export function startProgram(name: string, args: readonly string[]): BenchProgram {
  const child = start(process.execPath, [new URL(name, import.meta.url).pathname, ...args]);
  const [printed, said] = [text(child.stdout), text(child.stderr)];
  const first = once(child.stdout, 'data');
  const failed = async (): Promise<never> => {
    throw new Error(`${name} ended with ${await child.exited}: ${await said}`);
  };
  return {
    ready: async () => {
      await Promise.race([first, failed()]);
    },
    end: async () => {
      child.kill('SIGTERM');
      return (await child.exited) === 0 ? printed : failed();
    },
  };
}
