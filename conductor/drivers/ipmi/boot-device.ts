import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import type { BootDeviceSetting } from '#conductor/drivers/interfaces.ts';
import type { IpmiConnection } from '#conductor/drivers/ipmi/driver-info.ts';
import { type IpmitoolContext, ipmitool } from '#conductor/drivers/ipmi/ipmitool.ts';
import type { BootDevice, BootMode } from '#conductor/model/power-and-boot.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/** The boot device by `ipmitool chassis bootdev` and its boot flags (IPMI 2.0, table 28-14). */

export interface BootFlags extends BootDeviceSetting {
  readonly bootMode: BootMode | undefined;
  /**
   * Device that the flags select, valid or not; `other` = one that has no name here, `unknown` = words that nobody
   * knows.
   */
  readonly selected: BootDevice | 'none' | 'other' | 'unknown';
}

/** From `chassis bootparam get 5`. */
export function parseBootFlags(text: string): BootFlags {
  const words = /Boot Device Selector\s*:\s*(.*)/.exec(text)?.[1]?.trim() ?? '';
  const selected = selectedBy(words);
  // the flags are used up by a boot or expire: then the BMC still shows them, but not as valid
  const isValid = !/Boot Flag Invalid/i.test(text);
  if (!isValid || selected === 'none') {
    return { bootDevice: undefined, persistent: undefined, bootMode: undefined, selected };
  }
  const isForAll = /Options apply to all future boots/i.test(text);
  const persistent = isForAll || (/Options apply to only next boot/i.test(text) ? false : undefined);
  if (!isDevice(selected)) {
    const other = words || 'boot flags without a device';
    return { bootDevice: undefined, persistent, bootMode: undefined, selected, other };
  }
  const bootMode = /BIOS EFI boot/i.test(text) ? 'uefi' : /BIOS PC Compatible/i.test(text) ? 'bios' : undefined;
  return { bootDevice: selected, persistent, bootMode, selected };
}

function isDevice(selected: BootFlags['selected']): selected is BootDevice {
  return !['none', 'other', 'unknown'].includes(selected);
}

function selectedBy(selector: string): BootFlags['selected'] {
  if (/^No override/i.test(selector)) return 'none';
  if (!/^Force /i.test(selector)) return 'unknown';
  if (selector.includes('PXE')) return 'pxe';
  if (selector.includes('Hard-Drive')) return selector.includes('Safe-Mode') ? 'safe' : 'disk';
  if (selector.includes('BIOS')) return 'bios';
  return selector.includes('CD/DVD') ? 'cdrom' : 'other';
}

export async function readBootFlags(
  context: IpmitoolContext,
  connection: IpmiConnection,
  signal: AbortSignal,
): Promise<BootFlags> {
  return parseBootFlags(await ipmitool(context, connection, ['chassis', 'bootparam', 'get', '5'], signal));
}

interface BootRequest {
  readonly device: BootDevice;
  readonly persistent: boolean;
  readonly bootMode: BootMode | undefined;
}

/**
 * Sets the device, where a BMC refuses it for all boots for the next one, and looks at what the BMC shows then. Answers
 * how long it holds. What can't be read, or has unknown words, says nothing.
 * @throws AppError `bmc_error` naming what was asked for and what is shown, or the first refusal
 */
export async function setBootDevice(
  context: IpmitoolContext,
  connection: IpmiConnection,
  request: BootRequest,
  signal: AbortSignal,
): Promise<{ readonly persistent: boolean }> {
  let refusal: unknown;
  let shown: BootFlags['selected'] | undefined;
  for (const persistent of request.persistent ? [true, false] : [false]) {
    const error = await send(context, connection, { ...request, persistent }, signal);
    refusal ??= error;
    if (error !== undefined) continue;
    const flags = await look(context, connection, request.device, signal);
    // flags that are not valid say nothing of how long: ipmi_sim's never are
    if (flags?.selected === request.device) return { persistent: flags.persistent ?? persistent };
    if (flags === undefined || flags.selected === 'unknown') return { persistent };
    shown ??= flags.selected;
  }
  if (shown === undefined) throw refusal;
  const { address } = connection;
  throw new AppError(
    'bmc_error',
    `set boot device ${request.device} at ${address}: the BMC has taken it, and does not show it: shown is ${shown === 'other' ? 'another device' : shown}`,
    { cause: refusal },
  );
}

/** The refusal, if it was one. */
async function send(
  context: IpmitoolContext,
  connection: IpmiConnection,
  { device, persistent, bootMode }: BootRequest,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    await ipmitool(context, connection, bootDeviceCommand(device, persistent, bootMode), signal);
    return undefined;
  } catch (error) {
    if (errorCode(error) !== 'bmc_error') throw error;
    return error;
  }
}

const looks = 3;
const lookMs = 1000;

/** Reads what the BMC shows, after some seconds where that is another device; `undefined` = it can't be read. */
async function look(
  context: IpmitoolContext,
  connection: IpmiConnection,
  device: BootDevice,
  signal: AbortSignal,
): Promise<BootFlags | undefined> {
  const { clock, log } = context;
  for (let left = looks; ; left -= 1) {
    try {
      const flags = await readBootFlags(context, connection, signal);
      if (flags.selected === device || flags.selected === 'unknown' || left === 1) return flags;
    } catch (error) {
      if (errorCode(error) !== 'bmc_error') throw error;
      log.debug({ err: error, bmc: connection.address }, 'BMC does not show its boot flags');
      return undefined;
    }
    await clock.sleep(lookMs, signal).catch(() => {
      throw stoppedError(signal, `set boot device ${device} at ${connection.address}`);
    });
  }
}

/** `chassis bootdev` with its options. */
function bootDeviceCommand(device: BootDevice, persistent: boolean, bootMode: BootMode | undefined): readonly string[] {
  const options = [...(persistent ? ['persistent'] : []), ...(bootMode === 'uefi' ? ['efiboot'] : [])];
  return ['chassis', 'bootdev', device, ...(options.length > 0 ? [`options=${options.join(',')}`] : [])];
}

/**
 * Keeps boot flags until a boot uses them: without it a BMC drops them after 60 seconds, which a machine that still
 * has to power off may take (IPMI 2.0, boot option parameter 3, bit 3; Ironic sends the same).
 */
export const keepBootFlags: readonly string[] = ['raw', '0x00', '0x08', '0x03', '0x08'];
