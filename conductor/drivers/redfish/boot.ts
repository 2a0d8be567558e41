import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { FirmwareBootInterface, ManagementInterface } from '#conductor/drivers/interfaces.ts';
import {
  readIfThere,
  readLinkedSettings,
  readSettings,
  settingsPlaces,
} from '#conductor/drivers/redfish/bios/settings-places.ts';
import {
  type BootRequest,
  bootDeviceOf,
  bootModeOf,
  bootsFrom,
  chooseTarget,
  describeBootDifference,
  overrideMode,
  planBootPatches,
  redfishBootDevices,
} from '#conductor/drivers/redfish/boot-plans.ts';
import { underTitle } from '#conductor/drivers/redfish/client/errors.ts';
import { type Resource, readResource } from '#conductor/drivers/redfish/client/resource.ts';
import { type Boot, ComputerSystem, SecureBoot } from '#conductor/drivers/redfish/client/schemas.ts';
import { managerActions, type RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { type Ask, type SettingsPlaces, writeUntilShown } from '#conductor/drivers/redfish/client/write-until-shown.ts';
import { resetSystem } from '#conductor/drivers/redfish/power.ts';
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
      const found = await readBoot(system, signal);
      const what = `set boot mode ${mode} at ${system.client.origin}`;
      if (!('BootSourceOverrideMode' in found.boot)) {
        throw new AppError('not_supported', `${what}: the BMC has no BootSourceOverrideMode`);
      }
      const wanted = overrideMode(mode);
      const ask: Ask<ComputerSystem, object> = {
        ...bootAsk(system, found, what, signal),
        plans: () => {
          const plain = { BootSourceOverrideMode: wanted };
          const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled } = found.boot;
          // some BMCs take the mode only with the override that it is part of
          const whole = { ...plain, BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled };
          return target && enabled ? [plain, whole] : [plain];
        },
        differs: ({ Boot: boot }) => {
          const shown = boot?.BootSourceOverrideMode ?? wanted;
          return shown === wanted ? undefined : `asked for boot mode ${wanted}, shown is ${shown}`;
        },
        shows: ({ Boot: boot }) => boot?.BootSourceOverrideMode != null,
        serves: ({ Boot: boot }) => boot?.BootSourceOverrideMode === wanted,
        isShownAtReset: true,
      };
      await underTitle(what, () => writeUntilShown(system, found.places, ask, signal));
    },
    setSecureBoot: async (on, options) => {
      const { signal } = callDeadline(options, setTimeoutMs);
      const what = `switch secure boot ${on ? 'on' : 'off'} at ${system.client.origin}`;
      await underTitle(what, () => setSecureBoot(system, on, what, signal));
    },
  };
}

async function setSecureBoot(system: RedfishSystem, on: boolean, what: string, signal: AbortSignal): Promise<void> {
  const { client } = system;
  const path = (await system.read(signal)).data.SecureBoot?.['@odata.id'];
  if (path === undefined) throw new AppError('not_supported', 'the system has no SecureBoot resource');
  const resource = await readResource(client, path, SecureBoot, signal);
  const linked = await readLinkedSettings(client, resource, SecureBoot, signal);
  const places = settingsPlaces(client, SecureBoot, { resource, linked, isLinkedFirst: true, blindly: false });
  const word = (enabled: boolean): string => (enabled ? 'on' : 'off');
  const ask: Ask<SecureBoot, object> = {
    what,
    before: resource.data,
    plans: () => [{ SecureBootEnable: on }],
    body: (plan) => plan,
    read: (place) => readEach(system, [place.path, path], SecureBoot, signal),
    differs: ({ SecureBootEnable: shown }) =>
      (shown ?? on) === on ? undefined : `asked for secure boot ${word(on)}, shown is ${word(!on)}`,
    shows: ({ SecureBootEnable: shown }) => shown != null,
    serves: ({ SecureBootEnable: shown }) => shown === on,
    isShownAtReset: true,
  };
  await writeUntilShown(system, places, ask, signal);
}

/** The boot device by the system's boot override (DMTF ComputerSystem schema, `Boot`). */
export function redfishManagement(system: RedfishSystem): ManagementInterface {
  return {
    supportedBootDevices: redfishBootDevices,
    getBootDevice: async (options) => {
      const { boot } = await readBoot(system, callDeadline(options, readTimeoutMs).signal);
      return bootDeviceOf(boot);
    },
    checkBootDevice: async (device, options) => {
      const { boot, resource } = await readBoot(system, callDeadline(options, readTimeoutMs).signal);
      chooseTarget(device, boot, resource.data);
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
      const request = { device, persistent: options.persistent, bootMode: options.bootMode };
      return underTitle(what, async () => setBootDevice(system, request, what, signal));
    },
  };
}

async function setBootDevice(
  system: RedfishSystem,
  request: BootRequest,
  what: string,
  signal: AbortSignal,
): Promise<{ readonly persistent: boolean }> {
  const found = await readBoot(system, signal);
  const before = found.boot;
  const ask: Ask<ComputerSystem, Readonly<Record<string, string>>> = {
    ...bootAsk(system, found, what, signal),
    // sent even when it reads the same: BMCs that use up a "Continuous" override at POST still show it
    plans: ({ data }) => planBootPatches(request, { ...before, ...data?.Boot }, found.resource.data),
    shows: ({ Boot: shown }) => shown?.BootSourceOverrideTarget != null,
    differs: ({ Boot: shown }, plan, refused) =>
      describeBootDifference(shown ?? {}, plan, { request, before, refused }),
    // of one that refuses all it may be that what it shows has been used up
    serves: ({ Boot: shown = {} }, isTaken) =>
      bootsFrom(shown ?? {}, { request, before }) && (isTaken || shown?.BootSourceOverrideEnabled === 'Once'),
  };
  const { shown, plan } = await writeUntilShown(system, found.places, ask, signal);
  const enabled = shown.Boot?.BootSourceOverrideEnabled ?? plan['BootSourceOverrideEnabled'];
  return { persistent: enabled === undefined ? request.persistent : enabled === 'Continuous' };
}

interface FoundBoot {
  readonly boot: Boot;
  readonly resource: Resource<ComputerSystem>;
  /** Where the override is written: the system, or its Settings resource when that has the property. */
  readonly places: SettingsPlaces<ComputerSystem>;
}

/** @throws AppError `not_supported` for a system without a boot override. */
async function readBoot(system: RedfishSystem, signal: AbortSignal): Promise<FoundBoot> {
  const resource = await system.read(signal);
  const found = await findBoot(system, resource, signal);
  if (found) return found;
  throw new AppError('not_supported', `the system ${resource.path} at ${system.client.origin} has no boot override`);
}

/** Where a system has its boot override; `undefined` for one without. */
async function findBoot(
  system: RedfishSystem,
  resource: Resource<ComputerSystem>,
  signal: AbortSignal,
): Promise<FoundBoot | undefined> {
  const { Boot: boot } = resource.data;
  const linked = await readSettings(system, resource, ComputerSystem, signal);
  const pending = linked?.read?.data.Boot;
  const isLinkedFirst = pending?.BootSourceOverrideTarget != null;
  // Settings resources often list a few properties only, so the current values fill the gaps
  const merged = isLinkedFirst ? { ...boot, ...pending } : boot;
  if (!merged) return undefined;
  const places = settingsPlaces(system.client, ComputerSystem, { resource, linked, isLinkedFirst, blindly: false });
  return { boot: merged, resource, places };
}

function bootAsk(
  system: RedfishSystem,
  { boot, resource }: FoundBoot,
  what: string,
  signal: AbortSignal,
): Pick<Ask<ComputerSystem, object>, 'what' | 'before' | 'body' | 'read'> {
  return {
    what,
    before: { Boot: boot },
    body: (plan) => ({ Boot: plan }),
    read: ({ path }) => readEach(system, [path, resource.path], ComputerSystem, signal),
  };
}

/** Reads what is shown at the place that was written, and at the resource itself: some move it there at once. */
async function readEach<T>(
  { client }: RedfishSystem,
  paths: readonly string[],
  schema: Parameters<typeof readResource<T>>[2],
  signal: AbortSignal,
): Promise<readonly T[]> {
  const shown: T[] = [];
  for (const path of new Set(paths)) {
    const read = await readIfThere(client, path, schema, signal);
    if (read) shown.push(read.data);
  }
  return shown;
}
