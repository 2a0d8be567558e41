import { allVlans, describeVlans, isIsolated } from '#conductor/model/port-vlans.ts';
import { describeBond } from '#conductor/model/switch-bond.ts';
import { holdsOthers, notBatons } from '#conductor/networks/bond-faults.ts';
import type { SwitchAccess, SwitchPortSetting, SwitchPortState } from '#conductor/networks/switch-driver.ts';
import type {
  Membership,
  SwitchOs,
  SwitchRows,
  SwitchSnapshot,
} from '#conductor/networks/switches/command-line/switch-os.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A switch's answers, which its ports' states and Baton's bonds are read from. */

interface SwitchAt {
  readonly os: SwitchOs;
  readonly rows: SwitchRows;
  readonly access: SwitchAccess;
}

export function statesOf(switchAt: SwitchAt, snapshot: SwitchSnapshot, portIds: readonly string[]): SwitchPortState[] {
  return portIds.map((portId) => {
    const member = snapshot.members?.get(portId);
    if (!snapshot.ports.has(portId) && !member) {
      throw new AppError(
        'not_found',
        `switch ${switchAt.access.endpoint} has no port ${portId} that could be in a VLAN`,
      );
    }
    const goesDown = snapshot.goDown?.get(portId);
    const state = { portId, ...(goesDown ? { goesDown } : {}) };
    if (!member) {
      const vlans = snapshot.ports.get(portId) ?? 'other';
      // a system whose bonds are not asked for says by `other` VLANs that a port may be in one
      return { ...state, vlans, ...(vlans === 'other' && !snapshot.members ? { bond: 'unknown' } : {}) };
    }
    const number = ownNumber(switchAt, member.name);
    if (number === undefined) return { ...state, vlans: 'other', bond: 'unknown' };
    const { mode, acrossPair } = member;
    // beside its bond's networks, lines of its own may put it into one
    const vlans = snapshot.unread?.has(portId) ? 'other' : (snapshot.ports.get(member.name) ?? 'other');
    return { ...state, vlans, bond: { number, mode, acrossPair } };
  });
}

/** Gives the number of a bond that Baton may make; `undefined` = it is somebody else's. */
function ownNumber({ rows, access: { bondNumbers } }: SwitchAt, name: string): number | undefined {
  const number = Number(/\d+$/.exec(name)?.[0]);
  const isOwn = bondNumbers && number >= bondNumbers.from && number <= bondNumbers.to;
  return isOwn && rows.bonds?.name(number) === name ? number : undefined;
}

/** @throws AppError `switch_error` for a port that can't be set, with what is to be done. */
export function requireSettable(
  { access }: SwitchAt,
  settings: readonly SwitchPortSetting[],
  { fixed, untaggedRefused }: SwitchSnapshot,
): void {
  for (const { portId, vlans } of settings) {
    const isMixed = vlans.untagged !== undefined && vlans.tagged.length > 0;
    const why = fixed?.get(portId) ?? (isMixed ? untaggedRefused : undefined);
    if (why === undefined) continue;
    throw new AppError(
      'switch_error',
      `port ${portId} of switch ${access.endpoint} can't be set to ${describeVlans(vlans)}: ${why}`,
    );
  }
}

/** ` (it has "switchport monitor", which Baton does not know: …)`; nothing where all is known. */
export function describeUnread({ unread }: SwitchSnapshot, portIds: readonly string[]): string {
  const said = portIds.flatMap((portId) => {
    const lines = unread?.get(portId) ?? [];
    return lines.length === 0 ? [] : `${portId} has ${lines.map((line) => JSON.stringify(line)).join(', ')}`;
  });
  if (said.length === 0) return '';
  return ` (${said.join('; ')}: Baton does not know whether that puts a port into a network; take it away, or send a recording of the switch)`;
}

/** @throws AppError `switch_error` for a port in another's bond, and a bond that has another's port; `invalid_argument` */
export function requireOwnBonds(
  switchAt: SwitchAt,
  settings: readonly SwitchPortSetting[],
  { members = new Map<string, Membership>() }: SwitchSnapshot,
): void {
  const { rows, access, os } = switchAt;
  for (const { portId, bond } of settings) {
    const member = members.get(portId);
    if (member && ownNumber(switchAt, member.name) === undefined) throw notBatons(portId, member.name);
    if (!bond) continue;
    if (!rows.bonds?.[bond.acrossPair ? 'pairs' : 'modes'].includes(bond.mode))
      throw new AppError('invalid_argument', `${os.name} over ${access.endpoint} can't make ${describeBond(bond)}`);
    const name = rows.bonds.name(bond.number);
    const others = [...members].filter(
      ([port, its]) => its.name === name && settings.every((each) => each.portId !== port),
    );
    if (others.length > 0)
      throw holdsOthers(
        name,
        others.map(([port]) => port),
      );
  }
}

/** @throws AppError `invalid_argument` for VLANs that a port of this system can't carry. */
export function requireTrunks(os: SwitchOs, rows: SwitchRows, settings: readonly SwitchPortSetting[]): void {
  const odd =
    rows.trunkNeedsUntagged && settings.find(({ vlans }) => vlans.untagged === undefined && !isIsolated(vlans));
  if (!odd) return;
  throw new AppError(
    'invalid_argument',
    `port ${odd.portId} can't carry ${describeVlans(odd.vlans)}: a trunk of ${os.name} has an untagged VLAN, too; give the network a vlan`,
  );
}

/** And of the other members of their bonds. */
export function withOthers(
  switchAt: SwitchAt,
  snapshot: SwitchSnapshot,
  found: readonly SwitchPortState[],
): SwitchPortState[] {
  const names = new Set(found.flatMap(({ portId }) => snapshot.members?.get(portId)?.name ?? []));
  const others = [...(snapshot.members ?? [])].filter(
    ([port, { name }]) => names.has(name) && found.every(({ portId }) => portId !== port),
  );
  return [
    ...found,
    ...statesOf(
      switchAt,
      snapshot,
      others.map(([port]) => port),
    ),
  ];
}

/** @throws AppError `switch_error` where the switch's VLANs were not understood: none of them passes for missing. */
export function missingVlans(
  { access }: SwitchAt,
  settings: readonly SwitchPortSetting[],
  { vlans }: SwitchSnapshot,
): number[] {
  const wanted = [...new Set(settings.flatMap((setting) => allVlans(setting.vlans)))];
  if (!vlans || wanted.length === 0) return [];
  if (vlans !== 'unknown') return wanted.filter((vlan) => !vlans.has(vlan));
  throw new AppError(
    'switch_error',
    `switch ${access.endpoint} lists its VLANs in a form that Baton does not know: whether it has VLAN ${wanted.join(', ')} can't be told`,
  );
}

/** @throws AppError `aborted` for a call that was given up while it waited. */
export function requireWanted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new AppError('aborted', 'the call was stopped', { cause: signal.reason });
}
