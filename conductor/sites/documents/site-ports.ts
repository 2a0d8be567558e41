import type { NodeDesign } from '#conductor/sites/documents/node-design.ts';
import type { Report } from '#conductor/sites/documents/site-node.ts';
import type { SitePort } from '#conductor/sites/site.ts';

/** The ports that a node's interfaces are: those whose MAC address is known. */
export function sitePorts(design: NodeDesign, report: Report): SitePort[] {
  const bootMac = design.metadata?.boot_mac ?? undefined;
  const ports: SitePort[] = [];
  for (const [name, each] of Object.entries(design.interfaces ?? {})) {
    if (each === null) continue;
    const path = ['data', 'interfaces', name];
    if (!each.mac) {
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
    const [network, ...others] = each.networks ?? [];
    if (others.length > 0) {
      const message = `are ${others.length + 1}; a switch port is on one: keep one, and take inherited ones away with "!${others[0] ?? ''}"`;
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
    const message = 'have no MAC address; the node needs one interface with mac, or metadata.boot_mac';
    report(['data', 'interfaces'], message, 'MissingField');
  } else if (!ports.some(({ pxeEnabled }) => pxeEnabled)) {
    const message = 'have none that boots from the network: one of them needs pxe: true';
    report(['data', 'interfaces'], message, 'NoBootPort', 'Warning');
  }
  return ports;
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
