import { z } from 'zod';
import { installBootloader } from '#agent/boot/install-bootloader.ts';
import { defineCommand } from '#agent/commands/command.ts';

/** `image.install_bootloader`: makes the written disk boot (agent-protocol.md §6.4). */
export const installBootloaderCommand = defineCommand({
  kind: 'async',
  params: z.strictObject({
    root_uuid: z.string().nullish(),
    efi_system_part_uuid: z.string().nullish(),
    prep_boot_part_uuid: z.string().nullish(),
    target_boot_mode: z.enum(['bios', 'uefi']).default('bios'),
    ignore_bootloader_failure: z.boolean().nullish(),
  }),
  run: async (services, params) => {
    const { run, log, writtenImage } = services;
    const imagePolicy = services.imagePolicy?.() ?? {};
    await installBootloader({ run, log, writtenImage, imagePolicy, node: services.node() }, params);
    return null;
  },
});
