import type { NodeDesign } from '#conductor/sites/documents/node-design.ts';
import type { Report } from '#conductor/sites/documents/report-fault.ts';
import type { SitePort } from '#conductor/sites/site.ts';

/** The ports that a node's interfaces are: those whose MAC address is known. */
export function sitePorts(design: NodeDesign, report: Report): SitePort[] {
  const bootMac = design.metadata?.boot_mac ?? undefined;
  const ports: SitePort[] = [];
  const wires = wiresOf(design);
  const bonds = wires.filter(({ macs }) => macs.length > 1);
  // its switch ports are those of its slaves
  const bondOf = new Map(bonds.flatMap((wire) => wire.macs.map(({ name }) => [name, wire] as const)));
  reportHalfBonds(design, bonds, report);
  for (const [name, each] of Object.entries(design.interfaces ?? {})) {
    if (each === null) continue;
    const path = ['data', 'interfaces', name];
    if (!each.mac) {
      // its member interfaces have ports instead
      if (wires.some((wire) => wire.name === name && wire.macs.length > 0)) continue;
      report([...path, 'mac'], 'is missing: without it Baton makes no port of the interface', 'NotHonoured', 'Warning');
      continue;
    }
    if (each.mac === bootMac && each.pxe === false) {
      report(
        [...path, 'pxe'],
        'is false, and metadata.boot_mac is this interface: one of them must go',
        'InvalidValue',
      );
    }
    const wire = bondOf.get(name) ?? wires.find((one) => one.name === name);
    const network = wire && switchNetworkOf(wire);
    const [, ...others] = wire?.networks ?? [];
    if (others.length > 0 && network === undefined) {
      const message = `are ${others.length + 1}: say with device_link which network of the networks file carries them, keep one, or take inherited ones away with "!${others[0] ?? ''}"`;
      report([...path, 'networks'], message, 'NotSupported');
    }
    ports.push({
      address: each.mac,
      pxeEnabled: each.pxe ?? (bootMac === undefined || each.mac === bootMac),
      ...(each.switch_port && each.switch_port !== '!' ? { localLinkConnection: { ...each.switch_port } } : {}),
      ...(each.physical_network ? { physicalNetwork: each.physical_network } : {}),
      ...(network === undefined ? {} : { network }),
    });
  }
  reportSharedNetworks(ports, (message) => report(['data', 'interfaces'], message, 'NotSupported'));
  if (bootMac !== undefined && !ports.some(({ address }) => address === bootMac)) {
    ports.push({ address: bootMac, pxeEnabled: true });
  }
  if (ports.length === 0) {
    const message =
      'have no MAC address, nor has metadata.boot_mac: until they do, or somebody makes a port of the node, it fails before anything of it is touched';
    report(['data', 'interfaces'], message, 'NoBootPort', 'Warning');
  } else if (!ports.some(({ pxeEnabled }) => pxeEnabled)) {
    const message = 'have none that boots from the network: one of them needs pxe: true';
    report(['data', 'interfaces'], message, 'NoBootPort', 'Warning');
  }
  return ports;
}

function reportHalfBonds({ interfaces }: NodeDesign, bonds: readonly Wire[], report: Report): void {
  for (const [name, each] of Object.entries(interfaces ?? {})) {
    if ((each?.slaves ?? []).length < 2 || bonds.some((bond) => bond.name === name)) continue;
    const message =
      'do not become a bond: each must be an interface of the node with a mac, or config_drive.network_data says it all';
    report(['data', 'interfaces', name, 'slaves'], message, 'NotHonoured', 'Warning');
  }
}

/** A network is attached to the node once: to all of its ports, or to one. */
function reportSharedNetworks(ports: readonly SitePort[], report: (message: string) => void): void {
  const networks = Map.groupBy(ports, ({ network }) => network);
  networks.delete(undefined);
  const [first, second, ...more] = [...networks].find(([, each]) => each.length > 1)?.[1] ?? [];
  if (networks.size < 2 || !first || !second) return;
  const addresses = [first, second, ...more].map(({ address }) => address).join(' and ');
  report(`have ${addresses} on ${first.network ?? ''}: where a node is on several networks, each takes one port`);
}

/** One of a node's interfaces, with what it consists of: its own cable, or those of its `slaves`. */
export interface Wire {
  readonly name: string;
  /** In small letters; empty where no interface with a `mac` is behind it. */
  readonly macs: readonly { readonly name: string; readonly mac: string }[];
  /** Name of its document `drydock/NetworkLink/v1`. */
  readonly link: string | undefined;
  readonly networks: readonly string[];
}

/** Drydock names slaves by aliases of their PCI addresses; here they are interfaces of the node with a `mac`. Pure. */
export function wiresOf({ interfaces }: Pick<NodeDesign, 'interfaces'>): Wire[] {
  const known = Object.entries(interfaces ?? {}).flatMap(([name, each]) => (each ? [[name, each] as const] : []));
  const macs = new Map(known.flatMap(([name, { mac }]) => (mac ? [[name, mac] as const] : [])));
  return known.map(([name, { mac, slaves, device_link: link, networks }]) => {
    const members = (slaves ?? []).map((slave) => ({ name: slave, mac: macs.get(slave) }));
    const found = members.flatMap(({ mac: of, ...each }) => (of === undefined ? [] : [{ ...each, mac: of }]));
    const own = mac ? [{ name, mac }] : [];
    // a bond with missing members is ignored
    const ofSlaves = found.length === members.length ? found : [];
    return { name, macs: own.length > 0 ? own : ofSlaves, link: link ?? undefined, networks: networks ?? [] };
  });
}

/** The network of the networks file that the switch ports of an interface are on: a link of several has its own name. */
function switchNetworkOf({ link, networks }: Wire): string | undefined {
  return networks.length > 1 ? link : networks[0];
}
