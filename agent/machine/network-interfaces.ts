import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { basename, join } from 'node:path';
import type { LldpByNic } from '#agent/network/listen-lldp.ts';
import { isBmcLink, parseCardAddress } from '#shared/mac-address.ts';
import type { Run } from '#shared/process/run.ts';
import type { LldpTlv } from '#shared/wire/inventory.ts';

interface PhysicalInterface {
  readonly name: string;
  /** Lower case, colons; its own, also where it is a member of a bond. */
  readonly macAddress: string;
  /** `/sys/class/net/<name>` */
  readonly directory: string;
}

/**
 * The network cards of this machine by name: those with a device behind them, so neither loopback nor virtual ones, and
 * with an address by which the machine may be known; not its BMC's.
 */
export async function listPhysicalInterfaces(sysRoot = '/sys'): Promise<readonly PhysicalInterface[]> {
  const root = join(sysRoot, 'class/net');
  const names = (await readdir(root)).sort();
  const found = await Promise.all(
    names.map(async (name): Promise<readonly PhysicalInterface[]> => {
      const directory = join(root, name);
      const own = await readAttribute(directory, 'bonding_slave/perm_hwaddr');
      const macAddress = parseCardAddress(own ?? (await readAttribute(directory, 'address')) ?? '');
      if (macAddress === undefined || !(await exists(join(directory, 'device')))) return [];
      const driver = await linkName(join(directory, 'device/driver'));
      return isBmcLink({ macAddress, driver }) ? [] : [{ name, macAddress, directory }];
    }),
  );
  return found.flat();
}

/** A sysfs attribute, trimmed; `null` when the kernel doesn't offer it, refuses it (a link that is down) or it is empty. */
export async function readAttribute(directory: string, attribute: string): Promise<string | null> {
  try {
    return (await readFile(join(directory, attribute), 'utf8')).trim() || null;
  } catch {
    return null;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

export interface InterfaceInfo {
  readonly name: string;
  readonly mac_address: string;
  readonly ipv4_address: string | null;
  readonly ipv6_address: string | null;
  readonly has_carrier: boolean;
  /** LLDP data of the switch; `null` when nothing was heard, or nobody listened. */
  readonly lldp: readonly LldpTlv[] | null;
  readonly vendor: string | null;
  readonly product: string | null;
  /** Client id of InfiniBand's cards alone, which the agent doesn't list. */
  readonly client_id: null;
  /** `em1`: of cards on the board, as the firmware numbers them. */
  readonly biosdevname: string | null;
  readonly speed_mbps: number | null;
  /** The bus address behind the card: `0000:00:05.0`, `virtio2`. */
  readonly pci_address: string | null;
  readonly driver: string | null;
  /** Baton's own. */
  readonly baton_firmware: string | null;
}

export async function readInterfaces(
  roots: { readonly sys: string },
  run: Run,
  lldp: LldpByNic = new Map(),
): Promise<readonly InterfaceInfo[]> {
  const addresses = networkInterfaces();
  return Promise.all(
    (await listPhysicalInterfaces(roots.sys)).map(async (nic) => ({
      ...(await readInterface(nic, await addressesOf(nic, addresses), lldp)),
      baton_firmware: await readFirmware(run, nic.name),
    })),
  );
}

async function readFirmware(run: Run, name: string): Promise<string | null> {
  const { stdout } = await run('ethtool', ['-i', name]).catch(() => ({ stdout: '' }));
  const firmware = /^firmware-version: *(.*)$/m.exec(stdout)?.[1]?.trim() ?? '';
  return /^(n\/a)?$/i.test(firmware) ? null : firmware;
}

/** With those of bonds and VLANs on the card, which are all that such a card has. */
async function addressesOf(
  { name, directory }: PhysicalInterface,
  addresses: NodeJS.Dict<NetworkInterfaceInfo[]>,
): Promise<readonly NetworkInterfaceInfo[]> {
  return [name, ...(await linksOn(directory))].flatMap((each) => addresses[each] ?? []);
}

async function linksOn(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory).catch(() => []);
  const upper = entries.filter((entry) => entry.startsWith('upper_')).map((entry) => entry.slice('upper_'.length));
  const above = await Promise.all(upper.map((name) => linksOn(join(directory, '..', name))));
  return [...upper, ...above.flat()];
}

async function readInterface(
  { name, macAddress, directory }: PhysicalInterface,
  addresses: readonly NetworkInterfaceInfo[],
  lldp: LldpByNic,
): Promise<Omit<InterfaceInfo, 'baton_firmware'>> {
  const device = join(directory, 'device');
  const onBoard = await readAttribute(device, 'index');
  const speed = Number(await readAttribute(directory, 'speed'));
  const addressOf = (family: 'IPv4' | 'IPv6'): string | null =>
    addresses.find((address) => address.family === family && !address.address.startsWith('fe80:'))?.address ?? null;
  return {
    name,
    mac_address: macAddress,
    ipv4_address: addressOf('IPv4'),
    ipv6_address: addressOf('IPv6'),
    has_carrier: (await readAttribute(directory, 'carrier')) === '1',
    lldp: lldp.get(name) ?? null,
    vendor: await readAttribute(device, 'vendor'),
    product: await readAttribute(device, 'device'),
    client_id: null,
    biosdevname: onBoard === null ? null : `em${onBoard}`,
    speed_mbps: speed > 0 ? speed : null,
    pci_address: await linkName(device),
    driver: await linkName(join(device, 'driver')),
  };
}

async function linkName(path: string): Promise<string | null> {
  return readlink(path).then(
    (target) => basename(target),
    () => null, // a card without a driver, or a bus without addresses
  );
}
