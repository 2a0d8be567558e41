import type { NodeDesign } from '#conductor/sites/documents/node-design.ts';

/** One of a node's interfaces, with what it consists of: its own cable, or those of its `slaves`. */
export interface Wire {
  readonly name: string;
  /** In small letters; empty where no interface with a `mac` is behind it. */
  readonly macs: readonly { readonly name: string; readonly mac: string }[];
  /** Of the documents `drydock/NetworkLink/v1`. */
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
    // half a bond is none
    const ofSlaves = found.length === members.length ? found : [];
    return { name, macs: own.length > 0 ? own : ofSlaves, link: link ?? undefined, networks: networks ?? [] };
  });
}

/** The network of the networks file that the switch ports of an interface are on: a link of several has its own name. */
export function switchNetworkOf({ link, networks }: Wire): string | undefined {
  return networks.length > 1 ? link : networks[0];
}
