import { replaceBiosSettings } from '#conductor/flows/bios/bios-store.ts';
import { readBiosSettings } from '#conductor/flows/bios/cache-bios-settings.ts';
import { readFirmware, rememberFirmware } from '#conductor/flows/firmware/firmware-store.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';
import { readFirmwareBoot } from '#conductor/nodes/read-firmware-boot.ts';
import { AppError } from '#shared/errors/app-error.ts';

export const verifyPower: ConductorStep = {
  interface: 'power',
  step: 'verify_power',
  description: 'Proves that the BMC answers with the given credentials, and records the power state.',
  run: async (context) => {
    const powerState = await context.bmc().power.getPowerState({
      signal: context.signal,
      timeoutMs: context.config.powerTimeoutMs,
    });
    if (!powerState) throw new AppError('bmc_error', 'the BMC does not know whether the machine is on');
    const firmware = await readFirmwareBoot(context.bmc(), { log: context.log, signal: context.signal });
    const known = { powerState, powerFailures: 0, ...firmware };
    const settings = await readBiosSettings(context, { describe: true });
    const components = await readFirmware(context);
    return {
      kind: 'done',
      output: { power_state: powerState },
      record: async (tx) => {
        const { uuid } = context.node;
        const now = context.clock.now();
        if (settings) await replaceBiosSettings(tx, uuid, settings, now);
        if (components) await rememberFirmware(tx, uuid, components, { now });
        return known;
      },
    };
  },
};
