import { createInterface } from 'node:readline';
import { start } from '#shared/process/run.ts';

type Json = Record<string, unknown>;

/** Debian's real `baremetal` CLI (python3-ironicclient) on a conductor. */
export interface Baremetal {
  /** Gives what it prints; fails with its own words. */
  readonly text: (...args: string[]) => Promise<string>;
  /** With `-f json`. */
  readonly json: (...args: string[]) => Promise<Json>;
  /** With `-f json`, of a list. */
  readonly rows: (...args: string[]) => Promise<Json[]>;
  /** Its own words when it fails; throws when it succeeds. */
  readonly failure: (...args: string[]) => Promise<string>;
  readonly close: () => Promise<void>;
}

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const batch = new URL('baremetal-batch.py', import.meta.url).pathname;
/** It tries again after a 409, which is right where a node is locked for a moment, and takes 10 s where it stays so. */
const noRetries = ['--max-retries', '0'];

/**
 * One process for all commands, which come one after another.
 * @param credentials global options in place of no authentication: `['--os-auth-type', 'http_basic', …]`
 */
export function createBaremetal(
  url: () => string,
  credentials: readonly string[] = ['--os-auth-type', 'none'],
): Baremetal {
  // Debian's own: another Python in PATH has no ironicclient
  const child = start('/usr/bin/python3', [batch]);
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaints += chunk.toString('utf8');
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let before: Promise<unknown> = Promise.resolve();
  const ask = (args: readonly string[]): Promise<Outcome> => {
    const answered = before.then(async () => {
      child.stdin.write(`${JSON.stringify([...credentials, '--os-endpoint', url(), ...args])}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error(`baremetal has ended: ${complaints}`);
      return JSON.parse(value) as Outcome;
    });
    before = answered.catch(() => undefined);
    return answered;
  };
  const text = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await ask(args);
    if (code !== 0) throw new Error(`baremetal ${args.join(' ')} exited with ${code}: ${stderr || stdout}`);
    return stdout;
  };
  return {
    text,
    json: async (...args) => JSON.parse(await text(...args, '-f', 'json')) as Json,
    rows: async (...args) => JSON.parse(await text(...args, '-f', 'json')) as Json[],
    failure: async (...args) => {
      const { code, stdout, stderr } = await ask([...noRetries, ...args]);
      if (code === 0) throw new Error(`baremetal ${args.join(' ')} succeeded`);
      return `${stdout}${stderr}`;
    },
    close: async () => {
      child.stdin.end();
      await child.exited;
    },
  };
}
