import type { BootDeviceSetting } from '#conductor/drivers/interfaces.ts';
import type { Boot } from '#conductor/drivers/redfish/schemas.ts';
import type { BootDevice, BootMode } from '#conductor/model/boot.ts';
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

interface BootPlan {
  readonly patch: Readonly<Record<string, string>>;
  readonly persistent: boolean;
}

/**
 * The `Boot` objects to PATCH, best first: the next one is for a BMC that refuses the one before. A device for all boots
 * becomes one for the next boot in the end: DMTF has deprecated `Continuous`, and some vendors have dropped it.
 * @throws AppError `not_supported` naming what the BMC offers.
 */
export function planBootPatches(
  request: BootRequest,
  boot: Boot,
  manufacturer: string | null | undefined,
): readonly BootPlan[] {
  const supermicro = manufacturer?.toLowerCase().includes('supermicro') ?? false;
  const target = chooseTarget(request.device, boot, supermicro);
  const wanted = request.persistent ? ['Continuous', 'Once'] : ['Once'];
  const legal = boot['BootSourceOverrideEnabled@Redfish.AllowableValues'] ?? [];
  const offered = legal.length === 0 ? wanted : wanted.filter((each) => legal.includes(each));
  if (offered.length === 0) {
    throw new AppError(
      'not_supported',
      `boot device ${request.device} ${request.persistent ? 'for all boots' : 'for one boot'}: the BMC offers ${legal.join(', ')} only`,
    );
  }
  const mode = modeToSend(request.bootMode, boot, supermicro);
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

function chooseTarget(device: BootDevice, boot: Boot, supermicro: boolean): string {
  const target = targets[device];
  const legal = boot['BootSourceOverrideTarget@Redfish.AllowableValues'] ?? [];
  // Supermicro X11/X12 list Cd, but only UsbCd boots their virtual CD
  const wanted = supermicro && device === 'cdrom' && legal.includes('UsbCd') ? 'UsbCd' : target;
  if (wanted !== undefined && (legal.length === 0 || legal.includes(wanted))) return wanted;
  throw new AppError('not_supported', `boot device ${device}: the BMC offers ${legal.join(', ') || 'no such target'}`);
}

/**
 * The mode goes along when it would change: BMCs without the property refuse it, some want BIOS settings reloaded for
 * it. Supermicro falls back to legacy when an override comes without: it gets the mode that it has.
 */
function modeToSend(mode: BootMode | undefined, boot: Boot, supermicro: boolean): string | undefined {
  if (!('BootSourceOverrideMode' in boot)) return undefined;
  if (mode === undefined) return supermicro ? (boot.BootSourceOverrideMode ?? undefined) : undefined;
  const wanted = mode === 'uefi' ? 'UEFI' : 'Legacy';
  return boot.BootSourceOverrideMode === wanted && !supermicro ? undefined : wanted;
}

/** What an override means. A disabled one is none, whatever target it still shows (many reset it after a boot). */
export function bootDeviceOf(boot: Boot): BootDeviceSetting {
  const none = { bootDevice: undefined, persistent: undefined };
  if (boot.BootSourceOverrideEnabled === 'Disabled') return none;
  const target = boot.BootSourceOverrideTarget === 'UsbCd' ? 'Cd' : boot.BootSourceOverrideTarget;
  const bootDevice = redfishBootDevices.find((device) => targets[device] === target);
  if (bootDevice === undefined) return none;
  const enabled = boot.BootSourceOverrideEnabled;
  return { bootDevice, persistent: enabled == null ? undefined : enabled === 'Continuous' };
}

export function bootModeOf(boot: Boot): BootMode | undefined {
  if (boot.BootSourceOverrideMode === 'UEFI') return 'uefi';
  return boot.BootSourceOverrideMode === 'Legacy' ? 'bios' : undefined;
}
