import { readlink } from 'node:fs/promises';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { basename, join } from 'node:path';
import { listPhysicalInterfaces, type PhysicalInterface, readAttribute } from '#agent/hardware/network-interfaces.ts';
import type { HeardLldp } from '#agent/network/listen-lldp.ts';
import type { LldpTlv } from '#shared/wire/inventory.ts';

export interface InterfaceInfo {
  readonly name: string;
  readonly mac_address: string;
  readonly ipv4_address: string | null;
  readonly ipv6_address: string | null;
  readonly has_carrier: boolean;
  /** What the switch says; `null` when nothing was heard, or nobody listened. */
  readonly lldp: readonly LldpTlv[] | null;
  readonly vendor: string | null;
  readonly product: string | null;
  /** Of InfiniBand's cards alone, which the agent doesn't list. */
  readonly client_id: null;
  /** `em1`: of cards on the board, as the firmware numbers them. */
  readonly biosdevname: string | null;
  readonly speed_mbps: number | null;
  /** The bus address behind the card: `0000:00:05.0`, `virtio2`. */
  readonly pci_address: string | null;
  readonly driver: string | null;
}

export async function readInterfaces(
  roots: { readonly sys: string },
  lldp: HeardLldp = new Map(),
): Promise<readonly InterfaceInfo[]> {
  const addresses = networkInterfaces();
  return Promise.all(
    (await listPhysicalInterfaces(roots.sys)).map((nic) => readInterface(nic, addresses[nic.name] ?? [], lldp)),
  );
}

async function readInterface(
  { name, macAddress, directory }: PhysicalInterface,
  addresses: readonly NetworkInterfaceInfo[],
  lldp: HeardLldp,
): Promise<InterfaceInfo> {
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
