import type { SwitchPortOperation } from '#conductor/networks/switch-driver.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';

/** Ports in one command: lines have a length. */
const portsAtOnce = 16;

/**
 * The lines of a change: ports that are isolated first, then those that join a VLAN, all ports of one VLAN together. Pure.
 *
 * @param leaveFirst Ports that stand in some network: where a change is no transaction they leave it before any joins
 * another, so that of two nodes that swap networks neither meets the other half-way.
 */
export function changeLines(
  os: Pick<SwitchOs, 'isolate' | 'access'>,
  operations: readonly SwitchPortOperation[],
  leaveFirst: ReadonlySet<string>,
): string[] {
  const isolated = operations
    .filter((operation) => operation.kind === 'isolate' || leaveFirst.has(operation.portId))
    .map(({ portId }) => portId);
  const joining = Map.groupBy(
    operations.flatMap((operation) => (operation.kind === 'isolate' ? [] : [operation])),
    (operation) => operation.vlan,
  );
  return [
    ...inGroups(isolated).flatMap((portIds) => os.isolate(portIds)),
    ...[...joining].flatMap(([vlan, members]) =>
      inGroups(members.map(({ portId }) => portId)).flatMap((portIds) => os.access(portIds, vlan)),
    ),
  ];
}

/**
 * What undoes operations: ports stand again as they stood, and those whose former settings are not known are isolated,
 * which is never more than they had. Pure.
 */
export function wayBack(
  operations: readonly SwitchPortOperation[],
  before: ReadonlyMap<string, number | undefined>,
): SwitchPortOperation[] {
  const back = operations.map(({ portId }): SwitchPortOperation => {
    const vlan = before.get(portId);
    return vlan ? { kind: 'set access VLAN', portId, vlan } : { kind: 'isolate', portId };
  });
  return [...back.filter(({ kind }) => kind === 'isolate'), ...back.filter(({ kind }) => kind !== 'isolate')];
}

function inGroups(portIds: readonly string[]): string[][] {
  const count = Math.ceil(portIds.length / portsAtOnce);
  return Array.from({ length: count }, (_, index) => portIds.slice(index * portsAtOnce, (index + 1) * portsAtOnce));
}
