import { allVlans } from '#conductor/model/port-vlans.ts';
import { isBond } from '#conductor/model/switch-bond.ts';
import { namesPort } from '#conductor/networks/allowed-ports.ts';
import type { SwitchPortSetting, SwitchPortState } from '#conductor/networks/switch-driver.ts';
import type { SwitchSnapshot } from '#conductor/networks/switches/command-line/switch-os.ts';

interface WholeSwitch extends Pick<SwitchSnapshot, 'ports' | 'members' | 'carried'> {
  /** Uplinks, whose VLANs don't count, or do as far as they are known. */
  readonly uplinks: { readonly patterns: readonly string[]; readonly count: boolean };
  /** Other names are of what carries no VLANs: `loopback0`. */
  readonly isPort: (name: string) => boolean;
}

/**
 * The VLANs that ports of a switch will be in after these settings, without its uplinks unless these count. `unknown` where a port may be in any:
 * it is set as Baton sets none, and its VLANs are not known. Pure.
 *
 * @param found what the ports are now, and others in their bonds
 */
export function vlansInUse(
  { ports, members = new Map(), carried = new Map(), uplinks, isPort }: WholeSwitch,
  settings: readonly SwitchPortSetting[],
  found: readonly SwitchPortState[],
  nameOf: (number: number) => string = String,
): ReadonlySet<number> | 'unknown' {
  const set = new Set(settings.map(({ portId }) => portId));
  const bonds = Map.groupBy(found, ({ bond }) => (isBond(bond) ? nameOf(bond.number) : undefined));
  bonds.delete(undefined);
  // one that loses all its members goes with them, or is set again
  const gone = [...bonds].filter(([, its]) => its.every(({ portId }) => set.has(portId))).map(([name]) => name);
  const isUplink = (name: string): boolean => uplinks.patterns.some((pattern) => namesPort(pattern, name));
  const left = [...ports].filter(
    ([name, its]) =>
      isPort(name) &&
      !set.has(name) &&
      !gone.includes(name) &&
      !members.has(name) &&
      (!isUplink(name) || (uplinks.count && its !== 'other')),
  );
  const vlans = [
    ...left.map(([name, its]) => (its === 'other' ? carried.get(name) : allVlans(its))),
    ...settings.map((each) => allVlans(each.vlans)),
  ];
  const known = vlans.filter((each) => each !== undefined);
  return known.length < vlans.length ? 'unknown' : new Set(known.flat());
}
