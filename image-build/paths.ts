import { join } from 'node:path';

const repository = join(import.meta.dirname, '..');

/** Where the build reads and writes; everything written is under `build/`, which git ignores. */
export const paths = {
  repository,
  agentEntry: join(repository, 'agent/main.ts'),
  nodeBinary: join(repository, 'node_modules/node/bin/node'),
  cache: join(repository, 'build/cache'),
  ramdisk: join(repository, 'build/ramdisk'),
  osImage: join(repository, 'build/os-image'),
} as const;
