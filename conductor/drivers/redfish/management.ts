import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { ManagementInterface } from '#conductor/drivers/interfaces.ts';
import {
  bootDeviceOf,
  bootModeOf,
  planBootPatches,
  redfishBootDevices,
} from '#conductor/drivers/redfish/boot-override.ts';
import { attempted } from '#conductor/drivers/redfish/errors.ts';
import { firstTaken } from '#conductor/drivers/redfish/first-taken.ts';
import { managerActions } from '#conductor/drivers/redfish/manager.ts';
import { resetSystem } from '#conductor/drivers/redfish/power.ts';
import { patchResource, type Resource, readResource } from '#conductor/drivers/redfish/resource.ts';
import { type Boot, ComputerSystem } from '#conductor/drivers/redfish/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import { finishTask } from '#conductor/drivers/redfish/task.ts';
import { AppError } from '#shared/errors/app-error.ts';

const readTimeoutMs = 60_000;
const setTimeoutMs = 120_000;

/** The boot device by the system's boot override (DMTF ComputerSystem schema, `Boot`). */
export function redfishManagement(system: RedfishSystem): ManagementInterface {
  return {
    supportedBootDevices: redfishBootDevices,
    getBootDevice: async (options) => {
      const { boot } = await readBoot(system, callDeadline(options, readTimeoutMs).signal);
      return bootDeviceOf(boot);
    },
    getBootMode: async (options) => {
      const { boot } = await readBoot(system, callDeadline(options, readTimeoutMs).signal);
      return bootModeOf(boot);
    },
    injectNmi: (options) => resetSystem(system, ['Nmi'], callDeadline(options, setTimeoutMs).signal),
    ...managerActions(system),
    setBootDevice: async (device, options) => {
      const { signal } = callDeadline(options, setTimeoutMs);
      const what = `set boot device ${device} at ${system.client.origin}`;
      const { boot, resource, manufacturer } = await readBoot(system, signal);
      // sent even when it reads the same: BMCs that use up a "Continuous" override at POST still show it
      const plans = planBootPatches(
        { device, persistent: options.persistent, bootMode: options.bootMode },
        boot,
        manufacturer,
      );
      const send = async ({ patch, persistent }: (typeof plans)[number]): Promise<{ persistent: boolean }> => {
        const answer = await patchResource(system.client, resource, { Boot: patch }, signal);
        await finishTask(system.client, answer, what, { clock: system.clock, signal });
        return { persistent };
      };
      return attempted(what, () => firstTaken(plans, send));
    },
  };
}

interface BootPlace {
  readonly boot: Boot;
  /** Where the override is written: the system, or its Settings resource when that has the property. */
  readonly resource: Resource<ComputerSystem>;
  readonly manufacturer: string | null | undefined;
}

/** @throws AppError `not_supported` for a system without a boot override. */
export async function readBoot(system: RedfishSystem, signal: AbortSignal): Promise<BootPlace> {
  const resource = await system.read(signal);
  const place = await findBoot(system, resource, signal);
  if (place) return place;
  throw new AppError('not_supported', `the system ${resource.path} at ${system.client.origin} has no boot override`);
}

/** Where a system has its boot override; `undefined` for one without. */
export async function findBoot(
  system: RedfishSystem,
  resource: Resource<ComputerSystem>,
  signal: AbortSignal,
): Promise<BootPlace | undefined> {
  const { Boot: boot, Manufacturer: manufacturer } = resource.data;
  const settingsPath = resource.data['@Redfish.Settings']?.SettingsObject?.['@odata.id'];
  if (settingsPath !== undefined) {
    const settings = await readResource(system.client, settingsPath, ComputerSystem, signal);
    const pending = settings.data.Boot;
    // Settings resources often list a few properties only, so the current values fill the gaps
    if (pending?.BootSourceOverrideTarget) return { boot: { ...boot, ...pending }, resource: settings, manufacturer };
  }
  return boot ? { boot, resource, manufacturer } : undefined;
}
