import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { FirmwareBootInterface } from '#conductor/drivers/interfaces.ts';
import { bootModeOf } from '#conductor/drivers/redfish/boot-override.ts';
import { attempted } from '#conductor/drivers/redfish/errors.ts';
import { firstTaken } from '#conductor/drivers/redfish/first-taken.ts';
import { findBoot, readBoot } from '#conductor/drivers/redfish/management.ts';
import { patchResource, readResource } from '#conductor/drivers/redfish/resource.ts';
import { SecureBoot } from '#conductor/drivers/redfish/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import { finishTask } from '#conductor/drivers/redfish/task.ts';
import { AppError } from '#shared/errors/app-error.ts';

const readTimeoutMs = 60_000;
const setTimeoutMs = 120_000;

/** Boot mode by the boot override's mode, secure boot by the system's `SecureBoot` resource (DMTF SecureBoot schema). */
export function redfishFirmwareBoot(system: RedfishSystem): FirmwareBootInterface {
  return {
    read: async (options) => {
      const { signal } = callDeadline(options, readTimeoutMs);
      const resource = await system.read(signal);
      const path = resource.data.SecureBoot?.['@odata.id'];
      const boot = (await findBoot(system, resource, signal))?.boot;
      const secureBoot =
        path === undefined ? undefined : (await readResource(system.client, path, SecureBoot, signal)).data;
      return {
        bootMode: boot ? bootModeOf(boot) : undefined,
        secureBoot: secureBoot?.SecureBootEnable ?? undefined,
      };
    },
    setBootMode: async (mode, options) => {
      const { signal } = callDeadline(options, setTimeoutMs);
      const { boot, resource } = await readBoot(system, signal);
      const what = `set boot mode ${mode} at ${system.client.origin}`;
      if (!('BootSourceOverrideMode' in boot)) {
        throw new AppError('not_supported', `${what}: the BMC has no BootSourceOverrideMode`);
      }
      const plain = { BootSourceOverrideMode: mode === 'uefi' ? 'UEFI' : 'Legacy' };
      const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled } = boot;
      // some BMCs take the mode only with the override that it is part of
      const whole = { ...plain, BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled };
      const plans = target && enabled ? [plain, whole] : [plain];
      const send = async (plan: object): Promise<void> => {
        const answer = await patchResource(system.client, resource, { Boot: plan }, signal);
        await finishTask(system.client, answer, what, { clock: system.clock, signal });
      };
      await attempted(what, () => firstTaken(plans, send));
    },
    setSecureBoot: async (on, options) => {
      const { signal } = callDeadline(options, setTimeoutMs);
      const what = `switch secure boot ${on ? 'on' : 'off'} at ${system.client.origin}`;
      const { data } = await system.read(signal);
      const path = data.SecureBoot?.['@odata.id'];
      if (path === undefined) throw new AppError('not_supported', `${what}: the system has no SecureBoot resource`);
      const resource = await readResource(system.client, path, SecureBoot, signal);
      await attempted(what, async () => {
        const answer = await patchResource(system.client, resource, { SecureBootEnable: on }, signal);
        await finishTask(system.client, answer, what, { clock: system.clock, signal });
      });
    },
  };
}
