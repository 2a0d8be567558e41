#!/usr/bin/env node
import { runBaton } from '#conductor/cli/run-baton.ts';

runBaton({
  describeSettings: async () => {
    const { describeSettings } = await import('#conductor/start/environment.ts');
    return describeSettings();
  },
  databaseTool: async () => {
    const { dumpToFile, restoreFromFile } = await import('#conductor/start/backup.ts');
    return {
      dump: (file) => dumpToFile(file, process.env),
      restore: (file) => restoreFromFile(file, process.env),
    };
  },
});
