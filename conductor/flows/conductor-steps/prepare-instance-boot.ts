import { z } from 'zod';
import { checkCommand, startCommand } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { bootModeOf } from '#conductor/nodes/boot-mode.ts';
import { AppError } from '#shared/errors/app-error.ts';

const PartitionUuids = z.looseObject({
  'root uuid': z.string().nullish(),
  'efi system partition uuid': z.string().nullish(),
});

const command = 'image.install_bootloader';

/** Whole-disk images under UEFI get a boot entry; under BIOS the image's own boot sector is all there is to it. */
async function run(context: StepContext): Promise<ConductorStepOutcome> {
  const bootMode = bootModeOf(context.node);
  if (bootMode === 'bios') return bootFromDisk(context);
  const asked = await context.agent().post({ name: 'standby.get_partition_uuids', params: {} }, { wait: true });
  if (asked.command_status !== 'SUCCEEDED') {
    throw new AppError('agent_error', `ask for the image's partitions: ${asked.command_error?.details ?? 'no answer'}`);
  }
  const uuids = PartitionUuids.safeParse(unwrap(asked.command_result)).data ?? {};
  const outcome = await startCommand(context, {
    name: command,
    params: {
      root_uuid: uuids['root uuid'] ?? null,
      efi_system_part_uuid: uuids['efi system partition uuid'] ?? null,
      prep_boot_part_uuid: null,
      target_boot_mode: bootMode,
    },
  });
  return outcome.kind === 'done' ? bootFromDisk(context) : outcome;
}

/** Synchronous commands answer `{"result": …}` or the bare value. */
function unwrap(result: unknown): unknown {
  return typeof result === 'object' && result !== null && 'result' in result ? result.result : result;
}

async function bootFromDisk(context: StepContext): Promise<ConductorStepOutcome> {
  await context.bmc().management.setBootDevice('disk', {
    persistent: true,
    bootMode: bootModeOf(context.node),
    signal: context.signal,
  });
  return { kind: 'done' };
}

export const prepareInstanceBoot: ConductorStep = {
  interface: 'deploy',
  step: 'prepare_instance_boot',
  description: 'Has the agent install the boot entry where the firmware needs one, and boots from disk from now on.',
  run,
  resume: async (context) => {
    const outcome = await checkCommand(context, command);
    return outcome.kind === 'done' ? bootFromDisk(context) : outcome;
  },
};
