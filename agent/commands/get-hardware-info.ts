import { z } from 'zod';
import { defineCommand } from '#agent/commands/command.ts';

export const getHardwareInfo = defineCommand({
  kind: 'sync',
  params: z.strictObject({}),
  run: ({ inventory }) => inventory(),
});
