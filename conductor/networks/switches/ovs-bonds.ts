import { isBond } from '#conductor/model/switch-bond.ts';
import { holdsOthers, notBatons } from '#conductor/networks/bond-faults.ts';
import { type NumberRange, type SwitchPortSetting, type SwitchPortState } from '#conductor/networks/switch-driver.ts';
import {
  atoms,
  atomsOf,
  changePort,
  deadTrunk,
  mirrorOutputs,
  rowsOf,
  selectMirrors,
  uuidOf,
  vlansOf,
} from '#conductor/networks/switches/ovs-port-rows.ts';
import type { OvsdbOperation } from '#conductor/networks/switches/ovsdb-client.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Bonds of Open vSwitch: a bond is a `Port` of several `Interface`s. Its members' own ports are rows that go while it is
 * there: what an operator had set in them is kept in the bond's `external_ids`. Pure.
 */

interface PortRow {
  readonly uuid: string;
  readonly name: string;
  /** Their uuids. */
  readonly interfaces: readonly string[];
  readonly columns: Readonly<Record<string, unknown>>;
}

export interface Topology {
  readonly ports: readonly PortRow[];
  /** By uuid. */
  readonly interfaceNames: ReadonlyMap<string, string>;
  /** Uuid of a port → uuid of its bridge. */
  readonly bridges: ReadonlyMap<string, string>;
  /** Uuids of ports that mirrors send to. */
  readonly outputs: ReadonlySet<string>;
}

const kept = ['external_ids', 'other_config'] as const;

export const selectTopology: readonly OvsdbOperation[] = [
  {
    op: 'select',
    table: 'Port',
    where: [],
    columns: ['_uuid', 'name', 'interfaces', 'lacp', 'tag', 'trunks', 'vlan_mode', 'protected', ...kept],
  },
  { op: 'select', table: 'Interface', where: [], columns: ['_uuid', 'name'] },
  { op: 'select', table: 'Bridge', where: [], columns: ['_uuid', 'ports'] },
  selectMirrors,
];

export function readTopology([ports, interfaces, bridges, mirrors]: readonly Record<string, unknown>[]): Topology {
  return {
    ports: rowsOf(ports).map((columns) => ({
      uuid: uuidOf(columns['_uuid']),
      name: String(columns['name']),
      interfaces: atomsOf(columns['interfaces']),
      columns,
    })),
    interfaceNames: new Map(rowsOf(interfaces).map((row) => [uuidOf(row['_uuid']), String(row['name'])])),
    bridges: new Map(
      rowsOf(bridges).flatMap((row) => atomsOf(row['ports']).map((port) => [port, uuidOf(row['_uuid'])] as const)),
    ),
    outputs: mirrorOutputs(mirrors),
  };
}

/** `undefined` = there is no such port, nor is one a bond's member. */
export function stateAt(topology: Topology, numbers: NumberRange, portId: string): SwitchPortState | undefined {
  const row = rowAt(topology, portId);
  if (!row) return undefined;
  if (row.name === portId) return { portId, vlans: vlansOf(row.columns, topology.outputs) };
  const number = numberOf(row.name, numbers);
  if (number === undefined) return { portId, vlans: 'other', bond: 'unknown' };
  const mode = atoms(row.columns['lacp'])[0] === 'active' ? 'lacp' : 'other';
  return { portId, vlans: vlansOf(row.columns, topology.outputs), bond: { number, mode, acrossPair: false } };
}

/**
 * One transaction's operations: bonds of these ports are taken apart and made, and then all get their VLANs.
 * @throws AppError `switch_error` for a port that is in a bond of somebody else's, and a bond that has another's port
 */
export function changeOperations(
  topology: Topology,
  numbers: NumberRange,
  settings: readonly SwitchPortSetting[],
): OvsdbOperation[] {
  const rows = new Map(settings.map(({ portId }) => [portId, requireRow(topology, numbers, portId)]));
  const groups = Map.groupBy(
    settings.filter(({ bond }) => bond),
    ({ bond }) => `bond${bond?.number}`,
  );
  const isRight = (name: string, members: readonly SwitchPortSetting[]): boolean => {
    const row = topology.ports.find((each) => each.name === name);
    return (
      row !== undefined &&
      row.interfaces.length === members.length &&
      members.every(({ portId }) => rows.get(portId) === row) &&
      atoms(row.columns['lacp'])[0] === 'active'
    );
  };
  for (const [name, members] of groups) requireNoOthers(topology, name, members);
  const stays = new Set([...groups].filter(([name, members]) => isRight(name, members)).map(([name]) => name));
  // a port whose row is made again: it leaves a bond, or enters one
  const moved = settings.filter(({ portId, bond }) =>
    bond ? !stays.has(`bond${bond.number}`) : rows.get(portId)?.name !== portId,
  );
  const left = [...new Set(moved.flatMap(({ portId }) => rows.get(portId) ?? []))];
  const made = [
    ...moved.filter(({ bond }) => !bond).map((each) => ({ name: each.portId, members: [each] })),
    ...[...groups].filter(([name]) => !stays.has(name)).map(([name, members]) => ({ name, members })),
  ].map((each, index) => ({ ...each, id: `made_${index}` }));
  return [
    ...[...new Set(rows.values())].map(expectUnchanged),
    ...made.map(({ name, members, id }) => ({
      op: 'insert',
      table: 'Port',
      'uuid-name': id,
      row: rowFor(topology, name, members),
    })),
    ...left.flatMap((row) => leave(topology, row, moved)),
    ...made.map(({ members, id }) => ({
      op: 'mutate',
      table: 'Bridge',
      where: [['_uuid', '==', ['uuid', bridgeOf(topology, members)]]],
      mutations: [['ports', 'insert', ['set', [['named-uuid', id]]]]],
    })),
    ...settings.filter(({ bond }) => !bond).flatMap(changePort),
    ...[...groups].flatMap(([name, [first]]) => (first ? changePort({ portId: name, vlans: first.vlans }) : [])),
  ];
}

/** Describes a change as one would type it, from the states that were read. */
export function describeBondChange(
  settings: readonly SwitchPortSetting[],
  found: readonly SwitchPortState[],
): string[] {
  const stateOf = (portId: string) => found.find((state) => state.portId === portId);
  const numberAt = (portId: string): number | undefined => {
    const bond = stateOf(portId)?.bond;
    return isBond(bond) ? bond.number : undefined;
  };
  const leaving = settings.filter(({ portId, bond }) => {
    const now = numberAt(portId);
    return now !== undefined && now !== bond?.number;
  });
  const from = Map.groupBy(leaving, ({ portId }) => `bond${numberAt(portId)}`);
  const to = Map.groupBy(
    settings.filter(({ portId, bond }) => bond && numberAt(portId) !== bond.number),
    ({ bond }) => `bond${bond?.number}`,
  );
  const names = (members: readonly SwitchPortSetting[]) => members.map(({ portId }) => portId);
  return [
    ...[...from].map(
      ([bond, members]) =>
        `br=$(ovs-vsctl port-to-br ${bond}); ovs-vsctl del-port ${bond}${names(members)
          .map((portId) => ` -- add-port $br ${portId}`)
          .join('')}`,
    ),
    ...[...to].map(
      ([bond, members]) =>
        `br=$(ovs-vsctl port-to-br ${names(members)[0]}); ovs-vsctl ${names(members)
          .map((portId) => `del-port ${portId} -- `)
          .join('')}add-bond $br ${bond} ${names(members).join(' ')} lacp=active other_config:lacp-fallback-ab=true`,
    ),
  ];
}

function rowAt({ ports, interfaceNames }: Topology, portId: string): PortRow | undefined {
  const own = ports.find(({ name }) => name === portId);
  if (own) return own;
  const uuid = [...interfaceNames].find(([, name]) => name === portId)?.[0];
  return uuid === undefined ? undefined : ports.find(({ interfaces }) => interfaces.includes(uuid));
}

function numberOf(name: string, { from, to }: NumberRange): number | undefined {
  const number = Number(/^bond(\d+)$/.exec(name)?.[1]);
  return number >= from && number <= to ? number : undefined;
}

function requireRow(topology: Topology, numbers: NumberRange, portId: string): PortRow {
  const row = rowAt(topology, portId);
  if (!row) throw new AppError('not_found', `the switch has no port ${portId}`);
  if (row.name === portId || numberOf(row.name, numbers) !== undefined) return row;
  throw notBatons(portId, row.name);
}

function requireNoOthers(topology: Topology, name: string, members: readonly SwitchPortSetting[]): void {
  const row = topology.ports.find((each) => each.name === name);
  const others = (row?.interfaces ?? [])
    .map((uuid) => topology.interfaceNames.get(uuid) ?? uuid)
    .filter((port) => members.every(({ portId }) => portId !== port));
  if (others.length > 0) throw holdsOthers(name, others);
}

/** The row is as it was read, or the transaction fails. */
function expectUnchanged({ uuid, name, columns }: PortRow): OvsdbOperation {
  return {
    op: 'wait',
    timeout: 0,
    table: 'Port',
    where: [['_uuid', '==', ['uuid', uuid]]],
    columns: ['name', 'interfaces'],
    until: '==',
    rows: [{ name, interfaces: columns['interfaces'] }],
  };
}

/** Takes a port's row away, or of a bond those members that move. */
function leave(topology: Topology, row: PortRow, moved: readonly SwitchPortSetting[]): OvsdbOperation[] {
  const leaving = row.interfaces.filter((uuid) =>
    moved.some(({ portId }) => portId === topology.interfaceNames.get(uuid) || portId === row.name),
  );
  if (leaving.length < row.interfaces.length) {
    const gone = ['set', leaving.map((uuid) => ['uuid', uuid])];
    const where = [['_uuid', '==', ['uuid', row.uuid]]];
    return [{ op: 'mutate', table: 'Port', where, mutations: [['interfaces', 'delete', gone]] }];
  }
  const where = [['_uuid', '==', ['uuid', topology.bridges.get(row.uuid)]]];
  const gone = ['set', [['uuid', row.uuid]]];
  return [{ op: 'mutate', table: 'Bridge', where, mutations: [['ports', 'delete', gone]] }];
}

function bridgeOf(topology: Topology, members: readonly SwitchPortSetting[]): string {
  const bridges = new Set(members.map(({ portId }) => topology.bridges.get(rowAt(topology, portId)?.uuid ?? '')));
  const [bridge, ...more] = bridges;
  if (bridge !== undefined && more.length === 0) return bridge;
  const ports = members.map(({ portId }) => portId).join(', ');
  throw new AppError('switch_error', `ports ${ports} are at different bridges, which no bond can span`);
}

/** Columns that an operator had set in a member's own row. */
interface KeptColumns {
  readonly external_ids?: unknown;
  readonly other_config?: unknown;
  readonly protected?: boolean;
}

function rowFor(topology: Topology, name: string, members: readonly SwitchPortSetting[]): Record<string, unknown> {
  const each = members.map(({ portId }) => ({ portId, columns: keptColumns(topology, portId) }));
  const interfaces = ['set', members.map(({ portId }) => ['uuid', interfaceOf(topology, portId)])];
  const [only] = each;
  if (only && name === only.portId) return { name, interfaces, ...only.columns };
  return {
    name,
    interfaces,
    lacp: 'active',
    other_config: ['map', [['lacp-fallback-ab', 'true']]],
    protected: each.some(({ columns }) => columns.protected),
    external_ids: ['map', each.map(({ portId, columns }) => [keyOf(portId), JSON.stringify(columns)])],
  };
}

const keyOf = (portId: string): string => `baton-port-${portId}`;

function keptColumns(topology: Topology, portId: string): KeptColumns {
  const row = rowAt(topology, portId);
  if (!row) return {};
  const ids = mapOf(row.columns['external_ids']);
  if (row.name !== portId) return JSON.parse(ids.get(keyOf(portId)) ?? '{}') as KeptColumns;
  const isDead = Number(atoms(row.columns['trunks'])[0]) === deadTrunk;
  const others = [...ids].filter(([key]) => key !== 'baton-was-protected');
  return {
    external_ids: ['map', others],
    other_config: row.columns['other_config'],
    protected: isDead ? ids.has('baton-was-protected') : row.columns['protected'] === true,
  };
}

function interfaceOf({ interfaceNames }: Topology, portId: string): string | undefined {
  return [...interfaceNames].find(([, name]) => name === portId)?.[0];
}

function mapOf(value: unknown): Map<string, string> {
  return new Map(Array.isArray(value) && value[0] === 'map' ? (value[1] as [string, string][]) : []);
}
