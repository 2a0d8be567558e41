import { z } from 'zod';
import { defineCommand } from '#agent/commands/command.ts';

/** The agent stops serving and takes its links down: for machines whose power the conductor does not control. */
export const lockdown = defineCommand({
  kind: 'sync',
  params: z.strictObject({}),
  run: (services) => {
    services.lockdown();
    return Promise.resolve(null);
  },
});
