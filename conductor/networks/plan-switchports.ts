import { describeVlans, isIsolated, sameVlans } from '#conductor/model/port-vlans.ts';
import type { SwitchPortSetting, SwitchPortState } from '#conductor/networks/switch-driver.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * The settings that one switch needs so that its ports are as desired.
 *
 * Minimal: nothing for a port that is right. Ordered: all isolations first, so that no two nodes meet on a network that
 * one of them is about to leave; otherwise in the order of `desired`. Idempotent: planned again on the result, it is
 * empty. A port missing from `actual` is always set.
 *
 * @throws AppError `invalid_argument` when a port is desired twice with different VLANs.
 */
export function planSwitchports(
  desired: readonly SwitchPortSetting[],
  actual: readonly SwitchPortState[],
): SwitchPortSetting[] {
  const known = new Map(actual.map(({ portId, vlans }) => [portId, vlans]));
  const wanted = withoutRepeats(desired).filter(({ portId, vlans }) => !sameVlans(known.get(portId), vlans));
  return [...wanted.filter(({ vlans }) => isIsolated(vlans)), ...wanted.filter(({ vlans }) => !isIsolated(vlans))];
}

function withoutRepeats(desired: readonly SwitchPortSetting[]): SwitchPortSetting[] {
  const byPort = new Map<string, SwitchPortSetting>();
  for (const port of desired) {
    const earlier = byPort.get(port.portId);
    if (earlier && !sameVlans(earlier.vlans, port.vlans)) {
      const both = [earlier, port].map(({ vlans }) => describeVlans(vlans)).join(' and ');
      throw new AppError(
        'invalid_argument',
        `switch port ${port.portId} is wanted in two places: ${both}; two ports of nodes must not name one switch port`,
      );
    }
    byPort.set(port.portId, port);
  }
  return [...byPort.values()];
}
