import { type FoundVlans, isIsolated, isolated, type PortVlans, vlanList } from '#conductor/model/port-vlans.ts';
import { isBond, sameBond } from '#conductor/model/switch-bond.ts';
import {
  bondAt,
  type DownAmidChange,
  type SwitchPortSetting,
  type SwitchPortState,
} from '#conductor/networks/switch-driver.ts';
import type {
  ChangeRows,
  HoldRows,
  NamedBond,
  SwitchRows,
  SwitchSnapshot,
} from '#conductor/networks/switches/command-line/switch-os.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Ports in one command: lines have a length. */
const portsAtOnce = 16;

/** The thing that VLANs are set at: a port, or a bond in place of its members. */
interface Unit {
  readonly name: string;
  readonly vlans: PortVlans;
  readonly goesDown: DownAmidChange | undefined;
}

/**
 * The lines of a change: what is isolated first, then bonds are taken apart and made, then ports and bonds join VLANs, all of
 * the same ones together. Pure.
 *
 * @param found What the ports are, and others in their bonds.
 * @param inSteps Where a change is not a transaction, what is in some network leaves it before any joins another, so that of two
 * nodes that swap networks neither meets the other half-way. Members of a bond enter and leave it isolated.
 * @param snapshot Of the whole switch, with bonds; default: those that are wanted are not there yet.
 * @throws AppError `invalid_argument` for a port that was not read, where it might be in a bond
 */
export function changeLines(
  systemRows: ChangeRows,
  settings: readonly SwitchPortSetting[],
  found: readonly SwitchPortState[],
  inSteps: boolean,
  snapshot: Pick<SwitchSnapshot, 'ports' | 'goDown' | 'rows'> = { ports: new Map() },
): string[] {
  const rows = snapshot.rows ?? systemRows;
  const states = new Map(found.map((state) => [state.portId, state]));
  const nameOf = (number: number): string => rows.bonds?.name(number) ?? '';
  if (rows.bonds) requireRead(settings, states);
  const bondOf = ({ portId }: SwitchPortSetting): string | undefined => {
    const bond = bondAt(states, portId);
    return isBond(bond) ? nameOf(bond.number) : undefined;
  };
  const leaving = settings.filter((each) => bondOf(each) && !sameBond(bondAt(states, each.portId), each.bond));
  const apart = Map.groupBy(leaving, (each) => bondOf(each) ?? '');
  const staying = (name: string): string[] =>
    found.flatMap(({ portId, bond }) =>
      isBond(bond) && nameOf(bond.number) === name && leaving.every((each) => each.portId !== portId) ? portId : [],
    );
  const stays = (name: string): boolean =>
    staying(name).some((portId) => settings.every((each) => each.portId !== portId));
  const bonded = Map.groupBy(
    settings.filter(({ bond }) => bond),
    ({ bond }) => bond?.number ?? 0,
  );
  // of a bond that stays as it is not a port moves
  const made = [...bonded.values()].filter((members) =>
    members.some(({ portId, bond }) => !sameBond(bondAt(states, portId), bond)),
  );
  // one that its operator has shut stays so; one that is made, or made again, is up at the end
  const bondGoesDown = (name: string): DownAmidChange | undefined => {
    const goesDown = snapshot.goDown?.get(name);
    const stands = snapshot.ports.has(name) && (!apart.has(name) || stays(name));
    return stands ? goesDown : { description: goesDown?.description ?? '', isDown: false };
  };
  const units = new Map(
    settings.map(({ portId, vlans, bond }) => {
      const name = bond ? nameOf(bond.number) : portId;
      const { vlans: was = 'other' as const, goesDown } = states.get(portId) ?? {};
      return [name, { name, vlans, was, goesDown: bond ? bondGoesDown(name) : goesDown }];
    }),
  );
  // one that is in it already takes no commands of its own
  const entering = made.flat().filter((each) => bondOf(each) !== nameOf(each.bond?.number ?? 0));
  const isNew = new Set([...made.flatMap(([first]) => nameOf(first?.bond?.number ?? 0)), ...names(leaving)]);
  const first = [...units.values()].filter(
    ({ name, vlans, was }) => !isNew.has(name) && (isIsolated(vlans) || (inSteps && !isIsolated(was))),
  );
  const isolate = (ports: readonly string[]): string[] => {
    const each = ports.map((name) => ({ name, goesDown: states.get(name)?.goesDown }));
    return linesFor(holdAmid(rows, 'isolation'), each, rows.isolate);
  };
  const isolatedFirst = new Set([
    ...[...apart.keys()].filter((name) => !stays(name)),
    ...first.map(({ name }) => name),
    ...names(entering).filter((port) => !isNew.has(port)),
  ]);
  return [
    ...isolate([...isolatedFirst]),
    ...[...apart].flatMap(([name, members]) => [
      ...inGroups(names(members)).flatMap((group) => rows.bonds?.leave(group, name, staying(name)) ?? []),
      ...(stays(name) ? [] : (rows.bonds?.remove(name) ?? [])),
    ]),
    ...isolate(names(leaving)),
    ...made.flatMap((members) => makeLines(rows, members)),
    ...joinLines(rows, [...units.values()]),
    ...settings.flatMap(({ portId, bond }) => (bond ? upAgain(rows, portId, states.get(portId)?.goesDown) : [])),
    ...[...units.values()].flatMap((unit) => (isIsolated(unit.vlans) ? upAgain(rows, unit.name, unit.goesDown) : [])),
  ];
}

function requireRead(settings: readonly SwitchPortSetting[], states: ReadonlyMap<string, SwitchPortState>): void {
  const unread = names(settings).filter((portId) => !states.has(portId));
  if (unread.length === 0) return;
  throw new AppError('invalid_argument', `ports ${unread.join(', ')} were not read: they may be in a bond`);
}

/** Brings up a port that a lost change has left down, and that joins no VLAN now. */
function upAgain(rows: ChangeRows, name: string, goesDown: DownAmidChange | undefined): readonly string[] {
  return goesDown?.isDown ? (holdAmid(rows, 'join')?.up([name], goesDown.description) ?? []) : [];
}

function holdAmid({ hold }: ChangeRows, amid: HoldRows['amid']): HoldRows | undefined {
  return hold?.amid === amid ? hold : undefined;
}

function linesFor(
  hold: HoldRows | undefined,
  units: readonly Pick<Unit, 'name' | 'goesDown'>[],
  lines: (names: readonly string[]) => readonly string[],
): string[] {
  return [...Map.groupBy(units, ({ goesDown }) => hold && goesDown?.description)].flatMap(([description, members]) =>
    inGroups(members.map(({ name }) => name)).flatMap((ports) =>
      hold && description !== undefined
        ? [...hold.down(ports, description), ...lines(ports), ...hold.up(ports, description)]
        : lines(ports),
    ),
  );
}

function names(settings: readonly SwitchPortSetting[]): string[] {
  return settings.map(({ portId }) => portId);
}

function makeLines(rows: ChangeRows, members: readonly SwitchPortSetting[]): string[] {
  const { bonds } = rows;
  const [first] = members;
  if (!bonds || !first?.bond) return [];
  const bond: NamedBond = { ...first.bond, name: bonds.name(first.bond.number) };
  return [...bonds.make(bond), ...bonds.join(names(members), bond)];
}

function joinLines(rows: ChangeRows, units: readonly Unit[]): string[] {
  const joining = units.filter(({ vlans }) => !isIsolated(vlans));
  const groups = Map.groupBy(joining, ({ vlans }) => `${vlans.untagged ?? ''}/${vlanList(vlans.tagged)}`);
  return [...groups.values()].flatMap((members) =>
    // theirs are the same
    members
      .slice(0, 1)
      .flatMap(({ vlans }) =>
        linesFor(holdAmid(rows, 'join'), members, (ports) =>
          vlans.untagged !== undefined && vlans.tagged.length === 0
            ? rows.access(ports, vlans.untagged)
            : rows.trunk(ports, vlans),
        ),
      ),
  );
}

/**
 * Finds the settings that undo others: ports are again as they were, and those whose former VLANs or bond are nothing
 * that Baton sets are isolated, which is never more than they had. Pure.
 */
export function wayBack(
  settings: readonly SwitchPortSetting[],
  before: readonly SwitchPortState[],
): SwitchPortSetting[] {
  const states = new Map(before.map((state) => [state.portId, state]));
  const back = settings.map(({ portId }): SwitchPortSetting => {
    const { vlans, bond } = states.get(portId) ?? { vlans: 'other' as FoundVlans };
    if (vlans === 'other' || bond === 'unknown' || bond?.mode === 'other') return { portId, vlans: isolated };
    return { portId, vlans, ...(bond ? { bond: { ...bond, mode: bond.mode } } : {}) };
  });
  return [...back.filter(({ vlans }) => isIsolated(vlans)), ...back.filter(({ vlans }) => !isIsolated(vlans))];
}

function inGroups(ports: readonly string[]): string[][] {
  const count = Math.ceil(ports.length / portsAtOnce);
  return Array.from({ length: count }, (_, index) => ports.slice(index * portsAtOnce, (index + 1) * portsAtOnce));
}

/** Joins lines to fewer commands, where the system has a way. */
export function joinChanges(rows: SwitchRows, lines: readonly string[]): readonly string[] {
  return lines.length > 0 && rows.joined ? rows.joined(lines) : lines;
}
