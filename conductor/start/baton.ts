#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runBaton } from '#conductor/cli/run-baton.ts';

/** Its sources in a clone; beside the bundles of the Debian package, a bundle of its own. */
function demoProgram(): string {
  const source = join(import.meta.dirname, '../../test/demo/demo.ts');
  return existsSync(source) ? source : fileURLToPath(new URL('demo.ts', import.meta.url));
}

runBaton({
  describeSettings: async () => {
    const { describeSettings } = await import('#conductor/start/environment.ts');
    return describeSettings();
  },
  runDemo: async (args) => {
    const { runOnTerminal } = await import('#shared/process/run.ts');
    return runOnTerminal(process.execPath, [demoProgram(), ...args]);
  },
  databaseTool: async () => {
    const { dumpToFile, restoreFromFile } = await import('#conductor/start/backup.ts');
    return {
      dump: (file) => dumpToFile(file, process.env),
      restore: (file) => restoreFromFile(file, process.env),
    };
  },
});
