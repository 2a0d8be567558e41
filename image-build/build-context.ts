import { join } from 'node:path';
import type { Run } from '#shared/process/run.ts';

/** Means that every part of a build may use. */
export interface BuildContext {
  readonly run: Run;
  /** One line for the person who watches, on stderr. */
  readonly say: (line: string) => void;
  /** Build although the outputs are current. */
  readonly force: boolean;
  /** Ask the mirror again instead of using the cached package tree. */
  readonly refresh: boolean;
}

const repository = join(import.meta.dirname, '..');

/** Where the build reads and writes; everything written is under `build/`, which git ignores. */
export const paths = {
  repository,
  agentEntry: join(repository, 'agent/main.ts'),
  nodeBinary: join(repository, 'node_modules/node/bin/node'),
  /** The console's terminal: native code, in a package of its own for each platform. */
  terminalAddon: {
    name: '@lydell/node-pty-linux-x64',
    directory: join(repository, 'node_modules/@lydell/node-pty-linux-x64'),
  },
  cache: join(repository, 'build/cache'),
  ramdisk: join(repository, 'build/ramdisk'),
  osImage: join(repository, 'build/os-image'),
  packages: join(repository, 'build/package'),
} as const;
