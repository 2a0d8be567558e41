/** The VLANs that a switch port carries. */

/**
 * Frames without a tag belong to `untagged`, where there is one; those with the tag of another VLAN than `tagged` has are
 * dropped. None at all = isolated from every network.
 */
export interface PortVlans {
  /** 1 to 4094. */
  readonly untagged: number | undefined;
  /** Ascending, each once, without `untagged`. */
  readonly tagged: readonly number[];
}

/** VLANs that a port is found with: `other` matches no request, so that it is always put right. */
export type FoundVlans = PortVlans | 'other';

export const isolated: PortVlans = { untagged: undefined, tagged: [] };

export function portVlans(untagged: number | undefined, tagged: Iterable<number> = []): PortVlans {
  return { untagged, tagged: [...new Set(tagged)].filter((vlan) => vlan !== untagged).sort((a, b) => a - b) };
}

/** Returns all of them, the untagged one first. */
export function allVlans({ untagged, tagged }: PortVlans): readonly number[] {
  return untagged === undefined ? tagged : [untagged, ...tagged];
}

export function isIsolated(vlans: FoundVlans): boolean {
  return vlans !== 'other' && allVlans(vlans).length === 0;
}

export function sameVlans(a: FoundVlans | undefined, b: FoundVlans | undefined): boolean {
  if (a === undefined || b === undefined || a === 'other' || b === 'other') return a === b;
  return a.untagged === b.untagged && vlanList(a.tagged) === vlanList(b.tagged);
}

/** Writes `isolated`, `VLAN 100`, `VLAN 100 with tagged 200,300-302`, `tagged 200`, `other settings`. */
export function describeVlans(vlans: FoundVlans): string {
  if (vlans === 'other') return 'other settings';
  if (isIsolated(vlans)) return 'isolated';
  const tagged = vlans.tagged.length === 0 ? [] : [`tagged ${vlanList(vlans.tagged)}`];
  return [...(vlans.untagged === undefined ? [] : [`VLAN ${vlans.untagged}`]), ...tagged].join(' with ');
}

/** Writes `10,20-22`, as most switches write it. */
export function vlanList(vlans: readonly number[]): string {
  const ranges: { from: number; to: number }[] = [];
  for (const vlan of [...vlans].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && vlan === last.to + 1) last.to = vlan;
    else ranges.push({ from: vlan, to: vlan });
  }
  return ranges.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}

/** Reads `10,20-22` as 10, 20, 21, 22; `undefined` where any part is no VLAN: a list is read whole or not at all. */
export function readVlans(list: string): number[] | undefined {
  const parts = list.split(',').map(vlansIn);
  const isRead = parts.every((part) => part.length > 0 && part.every((vlan) => readVlan(vlan) !== undefined));
  return isRead ? parts.flat() : undefined;
}

/** Reads a VLAN's number, 1 to 4094. */
export function readVlan(text: string | number | undefined): number | undefined {
  const vlan = typeof text === 'number' ? text : /^\d{1,4}$/.test(text ?? '') ? Number(text) : 0;
  return Number.isInteger(vlan) && vlan >= 1 && vlan <= 4094 ? vlan : undefined;
}

/** Reads `10,20-22` as 10, 20, 21, 22, and leaves out parts that are no such range. */
export function vlansIn(list: string): number[] {
  return list.split(',').flatMap((part) => {
    const [, first, last = first] = /^\s*(\d{1,4})(?:-(\d{1,4}))?\s*$/.exec(part) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (!(from <= to)) return [];
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}
