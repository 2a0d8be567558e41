import type { BootDeviceSetting } from '#conductor/drivers/interfaces.ts';
import { hasMakersWay } from '#conductor/drivers/redfish/client/makers.ts';
import type { Boot, ComputerSystem } from '#conductor/drivers/redfish/client/schemas.ts';
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

type BootPlan = Readonly<Record<string, string>>;

/**
 * The `Boot` objects to PATCH, best first: the next one is for a BMC that refuses the one before, or doesn't do it. A device
 * for all boots becomes one for the next boot in the end: DMTF has deprecated `Continuous`, and some vendors have dropped it.
 * @throws AppError `not_supported` naming what the BMC offers.
 */
export function planBootPatches(request: BootRequest, boot: Boot, machine: Machine): readonly BootPlan[] {
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
  const kept = mode === undefined ? wantedMode(request.bootMode, boot) : undefined;
  return offered.flatMap((enabled) => {
    const plain = { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled };
    return [
      ...(mode === undefined ? [] : [{ ...plain, BootSourceOverrideMode: mode }]),
      plain,
      ...(boot.BootSourceOverrideEnabled === enabled ? [{ BootSourceOverrideTarget: target }] : []),
      // for one that forgets it, or takes the whole alone, as AMI's
      ...(kept === undefined ? [] : [{ ...plain, BootSourceOverrideMode: kept }]),
    ];
  });
}

/** @throws AppError `not_supported` naming what the BMC offers. */
export function chooseTarget(device: BootDevice, boot: Boot, machine: Machine): string {
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
  const wanted = overrideMode(mode);
  return boot.BootSourceOverrideMode === wanted && !forgets ? undefined : wanted;
}

export function overrideMode(mode: BootMode): 'UEFI' | 'Legacy' {
  return mode === 'uefi' ? 'UEFI' : 'Legacy';
}

/** The mode that is to be shown in the end: as asked, else as it was. */
function wantedMode(mode: BootMode | undefined, boot: Boot): string | undefined {
  return mode === undefined ? (boot.BootSourceOverrideMode ?? undefined) : overrideMode(mode);
}

/**
 * How a BMC's override differs from what was asked for, as far as it shows one; `undefined` = it doesn't. A mode that the
 * BMC has refused to set need only be as it was.
 */
export function describeBootDifference(
  shown: Boot,
  plan: BootPlan,
  about: { readonly request: BootRequest; readonly before: Boot; readonly refused: readonly BootPlan[] },
): string | undefined {
  const { request, before, refused } = about;
  const isModeRefused = refused.some((each) => 'BootSourceOverrideMode' in each);
  const mode = wantedMode(isModeRefused ? undefined : request.bootMode, before);
  const enabled = plan['BootSourceOverrideEnabled'] ?? before.BootSourceOverrideEnabled;
  const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: shownFor, BootSourceOverrideMode: in_ } = shown;
  const differs = [
    target != null && deviceOf(target) !== request.device,
    // for one boot in place of all is answered by how long it holds
    shownFor != null && shownFor !== enabled && !(enabled === 'Continuous' && shownFor === 'Once'),
    in_ != null && mode !== undefined && in_ !== mode,
  ];
  if (!differs.includes(true)) return undefined;
  const asked = { ...plan, ...(mode === undefined ? {} : { BootSourceOverrideMode: mode }) };
  return `asked for ${describe({ ...asked, BootSourceOverrideEnabled: enabled })}, shown is ${describe(shown)}`;
}

/** Whether a machine boots from the device by what its BMC shows, if for longer than asked. */
export function bootsFrom(shown: Boot, { request, before }: { readonly request: BootRequest; readonly before: Boot }) {
  const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled, BootSourceOverrideMode: mode } = shown;
  const isSame = mode == null || mode === (wantedMode(request.bootMode, before) ?? mode);
  return (
    target != null && deviceOf(target) === request.device && ['Once', 'Continuous'].includes(enabled ?? '') && isSame
  );
}

function describe(
  boot: Pick<Boot, 'BootSourceOverrideTarget' | 'BootSourceOverrideEnabled' | 'BootSourceOverrideMode'>,
) {
  const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled, BootSourceOverrideMode: mode } = boot;
  return [target, enabled, mode].filter((each) => each != null).join(' ') || 'nothing';
}

function deviceOf(target: string): BootDevice | undefined {
  const plain = target === 'UsbCd' ? 'Cd' : target;
  return redfishBootDevices.find((device) => targets[device] === plain);
}

/**
 * Reads what an override means. A disabled one is none, whatever target it still shows (many reset it after a boot).
 */
export function bootDeviceOf(boot: Boot): BootDeviceSetting {
  const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled } = boot;
  const none = { bootDevice: undefined, persistent: undefined };
  if (enabled === 'Disabled' || target === 'None' || (!target && enabled == null)) return none;
  const bootDevice = target ? deviceOf(target) : undefined;
  const persistent = enabled == null ? undefined : enabled === 'Continuous';
  if (bootDevice === undefined) return { bootDevice, persistent, other: target || `a device that it does not show` };
  return { bootDevice, persistent };
}

export function bootModeOf(boot: Boot): BootMode | undefined {
  if (boot.BootSourceOverrideMode === 'UEFI') return 'uefi';
  return boot.BootSourceOverrideMode === 'Legacy' ? 'bios' : undefined;
}
