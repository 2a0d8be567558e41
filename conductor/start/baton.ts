#!/usr/bin/env node
import { runBaton } from '#conductor/cli/run-baton.ts';

runBaton({
  describeSettings: async () => {
    const { describeSettings } = await import('#conductor/start/environment.ts');
    return describeSettings();
  },
});
