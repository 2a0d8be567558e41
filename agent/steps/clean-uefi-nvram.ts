import type { z } from 'zod';
import { cleanBootEntries } from '#agent/boot/clean-boot-entries.ts';
import type { AgentContext } from '#agent/context.ts';
import { readBootMode } from '#agent/machine/boot-mode.ts';
import { CleanNvramArgs } from '#shared/in-band/step-args.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/** Old systems' boot entries would be tried before the one to be installed, or fill the firmware's store. */
export const cleanUefiNvram = defineStep<AgentContext, z.infer<typeof CleanNvramArgs>>({
  interface: 'deploy',
  step: 'clean_uefi_nvram',
  priorities: { deploy: 0, clean: 0 },
  destroys: 'none',
  description: "Removes boot entries of installed systems from the UEFI firmware's memory",
  abortable: true,
  args: CleanNvramArgs,
  run: async ({ run, log }, { match_patterns: patterns }) => {
    if ((await readBootMode()) === 'bios') {
      return { kind: 'done', output: { removed: [], reason: 'the machine was not booted by UEFI' } };
    }
    const removed = await cleanBootEntries(run, patterns ?? undefined);
    log.info({ removed }, 'boot entries removed');
    return { kind: 'done', output: { removed } };
  },
});
