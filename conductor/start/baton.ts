#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runBaton } from '#conductor/cli/run-baton.ts';

/** Finds the demo's program: its sources in a clone; beside the bundles of the Debian package, a bundle of its own. */
function demoProgram(): string {
  const source = join(import.meta.dirname, '../../test/demo/demo.ts');
  return existsSync(source) ? source : fileURLToPath(new URL('demo.ts', import.meta.url));
}

/** Ends the program with npm's shell: npx and npm pass SIGTERM on to that shell, which ends without its program. */
function endWithShellOfNpm(): void {
  if (process.env['npm_command'] === undefined) return;
  const shell = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 250).unref();
}

runBaton({
  describeSettings: async () => {
    const { describeSettings } = await import('#conductor/start/environment.ts');
    return describeSettings();
  },
  runDemo: async (args) => {
    const { runOnTerminal } = await import('#shared/process/run.ts');
    endWithShellOfNpm();
    // it ends with this process, however that ends
    const demo = ['--pdeathsig=TERM', '--', process.execPath, demoProgram(), ...args];
    return runOnTerminal('setpriv', demo, { forwards: ['SIGINT', 'SIGTERM', 'SIGHUP'] });
  },
  databaseTool: async () => {
    const { dumpToFile, restoreFromFile } = await import('#conductor/start/backup.ts');
    return {
      dump: (file) => dumpToFile(file, process.env),
      restore: (file) => restoreFromFile(file, process.env),
    };
  },
});
