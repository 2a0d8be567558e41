import { bondModeOf, groupModeName, type SwitchBond } from '#conductor/model/switch-bond.ts';
import type { SwitchEntry } from '#conductor/networks/networks-file.ts';
import type { NumberRange } from '#conductor/networks/switch-driver.ts';
import type { SwitchPortMove } from '#conductor/networks/switch-port-move.ts';

/** Which port groups are bonded on their switches while the instance runs. Pure. */

export interface PortGroup {
  readonly uuid: string;
  /** Linux's bonding mode, by name or number. */
  readonly mode: string;
  /** Number of its bond on the switch; `null` = it has none yet, and there is none left. */
  readonly bondNumber: number | null;
  /** Physical network of members that name none. */
  readonly physicalNetwork?: string | null;
}

/** Whether the switches of a group are such that Baton bonds it: they give numbers for bonds, and its mode wants one. */
export function isBondedBy(group: Pick<PortGroup, 'mode'>, switches: readonly SwitchEntry[]): boolean {
  return bondModeOf(group.mode) !== undefined && switches.some(({ bondNumbers }) => bondNumbers);
}

/**
 * The bond of each port, by its uuid: those of a group of two ports or more, all on one network. All of them at one switch, or
 * at a switch and its pair.
 */
export function placeBonds(
  moves: readonly SwitchPortMove[],
  groups: readonly PortGroup[],
): { readonly bonds: ReadonlyMap<string, SwitchBond>; readonly faults: readonly string[] } {
  const placed = groups.map((group) => {
    const members = moves.filter(({ port }) => port.portgroupUuid === group.uuid);
    const bond = placeBond(group, members);
    return typeof bond === 'string' || !bond ? { members, fault: bond } : { members, bond };
  });
  return {
    bonds: new Map(
      placed.flatMap(({ members, bond }) => (bond ? members.map(({ port }) => [port.uuid, bond] as const) : [])),
    ),
    faults: placed.flatMap(({ fault }) => fault ?? []),
  };
}

/** Places a bond, or says what is wrong; `undefined` = its ports stay plain ones. */
function placeBond(group: PortGroup, members: readonly SwitchPortMove[]): SwitchBond | string | undefined {
  const mode = bondModeOf(group.mode);
  const isOperators = members.some(({ switchEntry, portId }) => switchEntry.bonds?.[portId]);
  const switches = [...new Set(members.map(({ switchEntry }) => switchEntry))];
  const networks = new Set(members.map(({ network }) => network));
  if (!mode || isOperators || members.length < 2 || networks.size > 1 || networks.has(undefined)) return undefined;
  if (!isBondedBy(group, switches)) return undefined;
  const about = `port group ${group.uuid} (mode ${groupModeName(group.mode)})`;
  const [first, second, ...more] = switches;
  const names = switches.map(({ switchId }) => switchId).join(', ');
  if (!first || more.length > 0 || (second && !isPair(first, second))) {
    return (
      `${about}: its ports are at switches ${names}, which are not a pair: name each as the other's pair in the networks file, ` +
      'or give the group mode active-backup'
    );
  }
  const modesOf = (entry: SwitchEntry) => (second ? entry.pairedBondModes : entry.bondModes);
  const unable = switches.find((entry) => modesOf(entry)?.includes(mode) === false);
  if (unable) {
    const modes = modesOf(unable)
      ?.map((each) => (each === 'lacp' ? '802.3ad' : 'balance-xor'))
      .join(' or ');
    return `${about}: driver ${unable.driver} of switch ${unable.switchId} makes no such bond${second ? ' with its pair' : ''}; give the group mode ${modes}, or active-backup`;
  }
  if (group.bondNumber === null) {
    const { from, to } = first.bondNumbers ?? { from: 0, to: 0 };
    return `${about}: switch ${names} has no bond number left of ${from}-${to} (bond_numbers in the networks file)`;
  }
  return { number: group.bondNumber, mode, acrossPair: second !== undefined };
}

function isPair(one: SwitchEntry, other: SwitchEntry): boolean {
  return one.pair?.toLowerCase() === other.switchId.toLowerCase();
}

/** The group's own number, if it may keep it, else the lowest that no other group has. */
export function chooseBondNumber(
  { from, to }: NumberRange,
  taken: ReadonlySet<number>,
  own: number | null,
): number | null {
  if (own !== null && own >= from && own <= to && !taken.has(own)) return own;
  for (let number = from; number <= to; number += 1) if (!taken.has(number)) return number;
  return null;
}
