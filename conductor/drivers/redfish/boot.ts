import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { BootDeviceSetting, FirmwareBootInterface, ManagementInterface } from '#conductor/drivers/interfaces.ts';
import { attempted, firstTaken } from '#conductor/drivers/redfish/errors.ts';
import { hasMakersWay } from '#conductor/drivers/redfish/makers.ts';
import { resetSystem } from '#conductor/drivers/redfish/power.ts';
import { patchResource, type Resource, readResource } from '#conductor/drivers/redfish/resource.ts';
import { type Boot, ComputerSystem, SecureBoot } from '#conductor/drivers/redfish/schemas.ts';
import { managerActions, type RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import { finishTask } from '#conductor/drivers/redfish/task.ts';
import type { BootDevice, BootMode } from '#conductor/model/power-and-boot.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Pure decisions about `Boot` of a ComputerSystem. */

const targets: Readonly<Partial<Record<BootDevice, string>>> = {
  pxe: 'Pxe',
  disk: 'Hdd',
  cdrom: 'Cd',
  bios: 'BiosSetup',
  uefihttp: 'UefiHttp',
};

export const redfishBootDevices = Object.keys(targets) as readonly BootDevice[];

export interface BootRequest {
  readonly device: BootDevice;
  readonly persistent: boolean;
  readonly bootMode: BootMode | undefined;
}

type Machine = Pick<ComputerSystem, 'Manufacturer' | 'Model'>;

interface BootPlan {
  readonly patch: Readonly<Record<string, string>>;
  readonly persistent: boolean;
}

/**
 * The `Boot` objects to PATCH, best first: the next one is for a BMC that refuses the one before. A device for all boots
 * becomes one for the next boot in the end: DMTF has deprecated `Continuous`, and some vendors have dropped it.
 * @throws AppError `not_supported` naming what the BMC offers.
 */
function planBootPatches(request: BootRequest, boot: Boot, machine: Machine): readonly BootPlan[] {
  const target = chooseTarget(request.device, boot, machine);
  const wanted = request.persistent ? ['Continuous', 'Once'] : ['Once'];
  const legal = boot['BootSourceOverrideEnabled@Redfish.AllowableValues'] ?? [];
  const offered = legal.length === 0 ? wanted : wanted.filter((each) => legal.includes(each));
  if (offered.length === 0) {
    throw new AppError(
      'not_supported',
      `boot device ${request.device} ${request.persistent ? 'for all boots' : 'for one boot'}: the BMC offers ${legal.join(', ')} only`,
    );
  }
  const mode = modeToSend(request.bootMode, boot, machine);
  return offered.flatMap((enabled) => {
    const plain = { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled };
    const patches = [
      ...(mode === undefined ? [] : [{ ...plain, BootSourceOverrideMode: mode }]),
      plain,
      ...(boot.BootSourceOverrideEnabled === enabled ? [{ BootSourceOverrideTarget: target }] : []),
    ];
    return patches.map((patch) => ({ patch, persistent: enabled === 'Continuous' }));
  });
}

function chooseTarget(device: BootDevice, boot: Boot, machine: Machine): string {
  const target = targets[device];
  const legal = boot['BootSourceOverrideTarget@Redfish.AllowableValues'] ?? [];
  const isUsbCd = device === 'cdrom' && legal.includes('UsbCd') && hasMakersWay('boots virtual CDs as UsbCd', machine);
  const wanted = isUsbCd ? 'UsbCd' : target;
  if (wanted !== undefined && (legal.length === 0 || legal.includes(wanted))) return wanted;
  throw new AppError('not_supported', `boot device ${device}: the BMC offers ${legal.join(', ') || 'no such target'}`);
}

/**
 * The mode goes along when it would change: BMCs without the property refuse it, some want BIOS settings reloaded for
 * it. Machines that forget it are told the mode that they have.
 */
function modeToSend(mode: BootMode | undefined, boot: Boot, machine: Machine): string | undefined {
  if (!('BootSourceOverrideMode' in boot)) return undefined;
  const forgets = hasMakersWay('forgets the boot mode', machine);
  if (mode === undefined) return forgets ? (boot.BootSourceOverrideMode ?? undefined) : undefined;
  const wanted = mode === 'uefi' ? 'UEFI' : 'Legacy';
  return boot.BootSourceOverrideMode === wanted && !forgets ? undefined : wanted;
}

/** What an override means. A disabled one is none, whatever target it still shows (many reset it after a boot). */
function bootDeviceOf(boot: Boot): BootDeviceSetting {
  const none = { bootDevice: undefined, persistent: undefined };
  if (boot.BootSourceOverrideEnabled === 'Disabled') return none;
  const target = boot.BootSourceOverrideTarget === 'UsbCd' ? 'Cd' : boot.BootSourceOverrideTarget;
  const bootDevice = redfishBootDevices.find((device) => targets[device] === target);
  if (bootDevice === undefined) return none;
  const enabled = boot.BootSourceOverrideEnabled;
  return { bootDevice, persistent: enabled == null ? undefined : enabled === 'Continuous' };
}

function bootModeOf(boot: Boot): BootMode | undefined {
  if (boot.BootSourceOverrideMode === 'UEFI') return 'uefi';
  return boot.BootSourceOverrideMode === 'Legacy' ? 'bios' : undefined;
}

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
      const { boot, resource, machine } = await readBoot(system, signal);
      // sent even when it reads the same: BMCs that use up a "Continuous" override at POST still show it
      const plans = planBootPatches(
        { device, persistent: options.persistent, bootMode: options.bootMode },
        boot,
        machine,
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
  readonly machine: Machine;
}

/** @throws AppError `not_supported` for a system without a boot override. */
async function readBoot(system: RedfishSystem, signal: AbortSignal): Promise<BootPlace> {
  const resource = await system.read(signal);
  const place = await findBoot(system, resource, signal);
  if (place) return place;
  throw new AppError('not_supported', `the system ${resource.path} at ${system.client.origin} has no boot override`);
}

/** Where a system has its boot override; `undefined` for one without. */
async function findBoot(
  system: RedfishSystem,
  resource: Resource<ComputerSystem>,
  signal: AbortSignal,
): Promise<BootPlace | undefined> {
  const { Boot: boot, ...machine } = resource.data;
  const settingsPath = resource.data['@Redfish.Settings']?.SettingsObject?.['@odata.id'];
  if (settingsPath !== undefined) {
    const settings = await readResource(system.client, settingsPath, ComputerSystem, signal);
    const pending = settings.data.Boot;
    // Settings resources often list a few properties only, so the current values fill the gaps
    if (pending?.BootSourceOverrideTarget) return { boot: { ...boot, ...pending }, resource: settings, machine };
  }
  return boot ? { boot, resource, machine } : undefined;
}
