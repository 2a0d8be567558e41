import type { SwitchPortOperation, SwitchPortState } from '#conductor/networks/switch-driver.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * What must be done to one switch so that its ports stand as desired.
 *
 * Minimal: nothing for a port that stands right. Ordered: all isolations first, so that no two nodes meet on a network
 * that one of them is about to leave; otherwise in the order of `desired`. Idempotent: planned again on the result, it
 * is empty. A port missing from `actual` is of unknown standing and is always set.
 *
 * @throws AppError `invalid_argument` when a port is desired twice with different VLANs.
 */
export function planSwitchports(
  desired: readonly SwitchPortState[],
  actual: readonly SwitchPortState[],
): SwitchPortOperation[] {
  const known = new Map(actual.map((port) => [port.portId, port]));
  const wanted = withoutRepeats(desired).filter((port) => {
    const now = known.get(port.portId);
    return now === undefined || now.accessVlan !== port.accessVlan;
  });
  const isolations = wanted.filter((port) => port.accessVlan === undefined);
  return [
    ...isolations.map(({ portId }): SwitchPortOperation => ({ kind: 'isolate', portId })),
    ...wanted.flatMap(({ portId, accessVlan }): SwitchPortOperation[] =>
      accessVlan === undefined ? [] : [{ kind: 'set access VLAN', portId, vlan: accessVlan }],
    ),
  ];
}

function withoutRepeats(desired: readonly SwitchPortState[]): SwitchPortState[] {
  const byPort = new Map<string, SwitchPortState>();
  for (const port of desired) {
    const earlier = byPort.get(port.portId);
    if (earlier !== undefined && earlier.accessVlan !== port.accessVlan) {
      const vlans = [earlier, port].map(({ accessVlan }) => accessVlan ?? 'isolated').join(' and ');
      throw new AppError(
        'invalid_argument',
        `switch port ${port.portId} is wanted in two places: ${vlans}; two ports of nodes must not name one switch port`,
      );
    }
    byPort.set(port.portId, port);
  }
  return [...byPort.values()];
}
