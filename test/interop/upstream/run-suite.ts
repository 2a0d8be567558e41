import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { run } from '#shared/process/run.ts';

export interface Outcome {
  readonly test: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly why: string;
}

const Line = z.union([
  z.object({ test: z.string(), outcome: z.enum(['passed', 'failed', 'skipped']), why: z.string() }),
  z.literal('ended'),
]);
const program = resolve(import.meta.dirname, 'run-tests.py');
const enter = resolve(import.meta.dirname, '../enter-chroot.sh');

export interface Suite {
  /** Debian with the suite, see `debian-13.ts`. */
  readonly tree: string;
  /** Python packages with tests. */
  readonly packages: readonly string[];
  /** By name: files for the suite, which finds them in `/home`. */
  readonly files: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  /** Folders of this machine → existing ones of the tree. */
  readonly binds?: Readonly<Record<string, string>>;
}

/** Runs a suite of Python tests in its Debian; the network is this machine's. */
export async function runSuite(suite: Suite): Promise<Outcome[]> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-suite-'));
  const outcomes: Outcome[] = [];
  let hasEnded = false;
  try {
    for (const [name, text] of Object.entries(suite.files)) await writeFile(join(folder, name), text);
    await mkdir(join(folder, 'logs'));
    await copyFile(program, join(folder, 'run-tests.py'));
    const binds = Object.entries({ [folder]: 'home', ...suite.binds }).map(([from, to]) => `${from}:${to}`);
    const namespaces = ['--mount', '--propagation=private', '--pid', '--fork', '--kill-child'];
    const command = ['/usr/bin/python3', '-W', 'ignore', '/home/run-tests.py', ...suite.packages];
    await run('unshare', [...namespaces, enter, suite.tree, ...binds, '--', ...command], {
      env: { LC_ALL: 'C.UTF-8', PYTHONUNBUFFERED: '1', HOME: '/tmp', ...suite.env },
      timeoutMs: 45 * 60_000,
      onStdoutLine: (line) => {
        const said = Line.parse(JSON.parse(line));
        if (said === 'ended') hasEnded = true;
        else outcomes.push(said);
      },
    });
    if (!hasEnded)
      throw new AppError('command_failed', `${suite.packages.join(', ')}: the tests stopped before their end`);
  } finally {
    await rm(folder, { recursive: true });
  }
  return outcomes;
}
