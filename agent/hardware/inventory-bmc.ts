import { isIPv4 } from 'node:net';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { parseCardAddress } from '#shared/mac-address.ts';
import type { Run } from '#shared/process/run.ts';

export interface BmcInfo {
  readonly bmc_address: string | null;
  readonly bmc_v6address: string | null;
  readonly bmc_mac: string | null;
  /** Baton's own. */
  readonly baton_bmc_firmware: string | null;
}

/** Channels that may be the LAN's (IPMI 2.0 §6.3); most BMCs have it at 1. */
const channels = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] as const;
const timeoutMs = 10_000;

/**
 * The BMC's own addresses by `ipmitool`, from the first LAN channel that has one, and its firmware; `null` for a machine
 * without, and where none can be read.
 */
export async function readBmc(run: Run): Promise<BmcInfo> {
  for (const channel of channels) {
    try {
      const { stdout } = await run('ipmitool', ['lan', 'print', String(channel)], { timeoutMs });
      const v4 = parseLanPrint(stdout);
      const v6 = await readV6Address(run, channel);
      if (v4.bmc_address === null && v6 === null) continue;
      return { ...v4, bmc_v6address: v6, baton_bmc_firmware: await readFirmware(run) };
    } catch (error) {
      // no such channel, or one that is not a LAN: the next one may be; without ipmitool or its device none is
      const hasRun = error instanceof AppError && error.details['exitCode'] !== undefined;
      if (!hasRun || /could not open device/i.test(errorChain(error))) break;
    }
  }
  return { bmc_address: null, bmc_v6address: null, bmc_mac: null, baton_bmc_firmware: null };
}

async function readFirmware(run: Run): Promise<string | null> {
  const { stdout } = await run('ipmitool', ['mc', 'info'], { timeoutMs }).catch(() => ({ stdout: '' }));
  return /^Firmware Revision\s*: (\S+)/m.exec(stdout)?.[1] ?? null;
}

export function parseLanPrint(stdout: string): Pick<BmcInfo, 'bmc_address' | 'bmc_mac'> {
  const field = (name: string): string | null => new RegExp(`^${name}\\s*: (\\S+)`, 'm').exec(stdout)?.[1] ?? null;
  const address = field('IP Address') ?? '';
  return {
    bmc_address: isIPv4(address) && !noAddress.test(address) ? address : null,
    bmc_mac: parseCardAddress(field('MAC Address') ?? '') ?? null,
  };
}

/** Not set, or of a link that ends at the machine itself: alike on many, and not to be reached from elsewhere. */
const noAddress = /^(?:0|127|169\.254)\.|^255\.255\.255\.255$/;

async function readV6Address(run: Run, channel: number): Promise<string | null> {
  for (const kind of ['static_addr', 'dynamic_addr']) {
    const stdout = await run('ipmitool', ['lan6', 'print', String(channel), kind], { timeoutMs }).then(
      (result) => result.stdout,
      () => '', // a BMC without IPv6
    );
    const address = parseLan6Print(stdout);
    if (address !== null) return address;
  }
  return null;
}

/** Parses `ipmitool lan6 print … static_addr|dynamic_addr`: the first active address that is neither `::` nor link-local. */
export function parseLan6Print(stdout: string): string | null {
  const blocks = stdout.split(/^IPv6 (?:Static|Dynamic) Address \d+:/m).slice(1);
  for (const block of blocks) {
    const address = /^\s*Address:\s+([0-9a-f:]+)/im.exec(block)?.[1];
    const isActive = /^\s*Status:\s+active/im.test(block);
    if (isActive && address !== undefined && address !== '::' && !/^fe80:/i.test(address)) return address;
  }
  return null;
}
