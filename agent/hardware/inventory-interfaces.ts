import { readlink } from 'node:fs/promises';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { basename, join } from 'node:path';
import { listPhysicalInterfaces, type PhysicalInterface, readAttribute } from '#agent/hardware/network-interfaces.ts';

export interface InterfaceInfo {
  readonly name: string;
  readonly mac_address: string;
  readonly ipv4_address: string | null;
  readonly ipv6_address: string | null;
  readonly has_carrier: boolean;
  /** What the switch says; this agent doesn't listen for it. */
  readonly lldp: null;
  readonly vendor: string | null;
  readonly product: string | null;
  readonly client_id: null;
  readonly biosdevname: null;
  readonly speed_mbps: number | null;
  /** The bus address behind the card: `0000:00:05.0`, `virtio2`. */
  readonly pci_address: string | null;
  readonly driver: string | null;
}

export async function readInterfaces(roots: { readonly sys: string }): Promise<readonly InterfaceInfo[]> {
  const addresses = networkInterfaces();
  return Promise.all(
    (await listPhysicalInterfaces(roots.sys)).map((nic) => readInterface(nic, addresses[nic.name] ?? [])),
  );
}

async function readInterface(
  { name, macAddress, directory }: PhysicalInterface,
  addresses: readonly NetworkInterfaceInfo[],
): Promise<InterfaceInfo> {
  const device = join(directory, 'device');
  const speed = Number(await readAttribute(directory, 'speed'));
  const addressOf = (family: 'IPv4' | 'IPv6'): string | null =>
    addresses.find((address) => address.family === family && !address.address.startsWith('fe80:'))?.address ?? null;
  return {
    name,
    mac_address: macAddress,
    ipv4_address: addressOf('IPv4'),
    ipv6_address: addressOf('IPv6'),
    has_carrier: (await readAttribute(directory, 'carrier')) === '1',
    lldp: null,
    vendor: await readAttribute(device, 'vendor'),
    product: await readAttribute(device, 'device'),
    client_id: null,
    biosdevname: null,
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
