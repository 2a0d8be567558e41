import { isIsolated } from '#conductor/model/port-vlans.ts';
import {
  describePort,
  isSet,
  type SwitchPortSetting,
  type SwitchPortState,
} from '#conductor/networks/switch-driver.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * The settings that one switch needs so that its ports are as desired.
 *
 * Minimal: nothing for a port that is right, but all of a bond of which any is wrong. Ordered: all isolations first, so that no two nodes meet on a network that
 * one of them is about to leave; otherwise in the order of `desired`. Idempotent: planned again on the result, it is
 * empty. A port missing from `actual` is always set.
 *
 * @throws AppError `invalid_argument` when a port is desired twice, or a bond, with different VLANs.
 */
export function planSwitchports(
  desired: readonly SwitchPortSetting[],
  actual: readonly SwitchPortState[],
): SwitchPortSetting[] {
  const known = new Map(actual.map((state) => [state.portId, state]));
  const all = withoutRepeats(desired);
  const wrong = new Set(all.filter((setting) => !isSet(known.get(setting.portId), setting)));
  const wrongBonds = new Set([...wrong].flatMap(({ bond }) => bond?.number ?? []));
  const wanted = all.filter((setting) => wrong.has(setting) || (setting.bond && wrongBonds.has(setting.bond.number)));
  return [...wanted.filter(({ vlans }) => isIsolated(vlans)), ...wanted.filter(({ vlans }) => !isIsolated(vlans))];
}

function withoutRepeats(desired: readonly SwitchPortSetting[]): SwitchPortSetting[] {
  const byPort = new Map<string, SwitchPortSetting>();
  const byBond = new Map<number, SwitchPortSetting>();
  for (const setting of desired) {
    requireSame(`switch port ${setting.portId}`, byPort.get(setting.portId), setting);
    byPort.set(setting.portId, setting);
    if (!setting.bond) continue;
    requireSame(`bond ${setting.bond.number}`, byBond.get(setting.bond.number), setting);
    byBond.set(setting.bond.number, setting);
  }
  return [...byPort.values()];
}

function requireSame(what: string, earlier: SwitchPortSetting | undefined, setting: SwitchPortSetting): void {
  if (!earlier || isSet(earlier, setting)) return;
  throw new AppError(
    'invalid_argument',
    `${what} is wanted in two places: ${describePort(earlier)} and ${describePort(setting)}; two ports of nodes must not name one switch port`,
  );
}
