import { type FoundVlans, isIsolated, isolated, vlanList } from '#conductor/model/port-vlans.ts';
import type { SwitchPortSetting } from '#conductor/networks/switch-driver.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';

/** Ports in one command: lines have a length. */
const portsAtOnce = 16;

/**
 * The lines of a change: ports that are isolated first, then those that join VLANs, all ports of the same ones together.
 * Pure.
 *
 * @param leaveFirst Ports that are in some network: where a change is no transaction they leave it before any joins
 * another, so that of two nodes that swap networks neither meets the other half-way.
 */
export function changeLines(
  os: Pick<SwitchOs, 'isolate' | 'access' | 'trunk'>,
  settings: readonly SwitchPortSetting[],
  leaveFirst: ReadonlySet<string>,
): string[] {
  const leaving = settings.filter(({ portId, vlans }) => isIsolated(vlans) || leaveFirst.has(portId));
  const joining = settings.filter(({ vlans }) => !isIsolated(vlans));
  const groups = Map.groupBy(joining, ({ vlans }) => `${vlans.untagged ?? ''}/${vlanList(vlans.tagged)}`);
  return [
    ...inGroups(leaving).flatMap((portIds) => os.isolate(portIds)),
    ...[...groups.values()].flatMap((members) => {
      const [{ vlans } = { vlans: isolated }] = members;
      const join = (portIds: readonly string[]) =>
        vlans.untagged !== undefined && vlans.tagged.length === 0
          ? os.access(portIds, vlans.untagged)
          : os.trunk(portIds, vlans);
      return inGroups(members).flatMap(join);
    }),
  ];
}

/**
 * What undoes settings: ports are again as they were, and those whose former VLANs are not known are isolated, which is
 * never more than they had. Pure.
 */
export function wayBack(
  settings: readonly SwitchPortSetting[],
  before: ReadonlyMap<string, FoundVlans>,
): SwitchPortSetting[] {
  const back = settings.map(({ portId }): SwitchPortSetting => {
    const vlans = before.get(portId) ?? 'other';
    return { portId, vlans: vlans === 'other' ? isolated : vlans };
  });
  return [...back.filter(({ vlans }) => isIsolated(vlans)), ...back.filter(({ vlans }) => !isIsolated(vlans))];
}

function inGroups(settings: readonly SwitchPortSetting[]): string[][] {
  const portIds = settings.map(({ portId }) => portId);
  const count = Math.ceil(portIds.length / portsAtOnce);
  return Array.from({ length: count }, (_, index) => portIds.slice(index * portsAtOnce, (index + 1) * portsAtOnce));
}
