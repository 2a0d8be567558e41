import { z } from 'zod';
import { defineCommand } from '#agent/commands/command.ts';
import { readInventory } from '#agent/hardware/inventory.ts';

export const getHardwareInfo = defineCommand({
  kind: 'sync',
  params: z.strictObject({}),
  run: ({ run, bootMac }) => readInventory({ run, bootMac }),
});
