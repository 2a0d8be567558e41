import { join } from 'node:path';

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
