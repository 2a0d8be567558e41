import {
  describeVlans,
  type FoundVlans,
  isIsolated,
  isolated,
  type PortVlans,
  portVlans,
  sameVlans,
} from '#conductor/model/port-vlans.ts';
import type {
  SwitchConnection,
  SwitchDriver,
  SwitchPortSetting,
  SwitchPortState,
} from '#conductor/networks/switch-driver.ts';
import { createOvsdbClient, type OvsdbClient, type OvsdbOperation } from '#conductor/networks/switches/ovsdb-client.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Open vSwitch: a port is a row of the `Port` table, found by its name (unique in the whole database); columns are
 * described in ovs-vswitchd.conf.db(5).
 *
 * Isolated = `vlan_mode=trunk`, `trunks=[4095]`, `protected=true`: a trunk drops frames of VLANs it does not list, and
 * untagged frames are VLAN 0; `protected` stops frames that a node tags 4095 itself from reaching another isolated one.
 * An access port on a dead VLAN would not do: all isolated nodes would share it, and every port without VLAN settings
 * (an uplink) carries it too.
 */

const database = 'Open_vSwitch';
const deadTrunk = 4095;
/** Marks a port whose `protected` was set before Baton isolated it. */
const wasProtected = ['map', [['baton-was-protected', 'true']]] as const;
/** How long ovs-vswitchd may take to put a changed database into effect. */
const realiseTimeoutMs = 10_000;
const emptySet = ['set', []] as const;

export const ovsDriver: SwitchDriver = {
  name: 'ovs',
  connect: ({ endpoint }) => {
    const client = createOvsdbClient(endpoint);
    return {
      readPorts: (portIds, signal) => readPorts(client, endpoint, portIds, signal),
      apply: (settings, signal) => apply(client, endpoint, settings, signal),
      describe: (settings) => settings.map(describeSetting),
      close: async () => client.close(),
    } satisfies SwitchConnection;
  },
};

async function readPorts(
  client: OvsdbClient,
  endpoint: string,
  portIds: readonly string[],
  signal: AbortSignal | undefined,
): Promise<SwitchPortState[]> {
  const [system, ...ports] = await client.transact(database, [selectConfig, ...portIds.map(selectPort)], { signal });
  // without this a change that the database holds but ovs-vswitchd never took over would pass for done
  await waitUntilRealised(client, endpoint, system, signal);
  return portIds.map((portId, index) => {
    const row = rowsOf(ports[index])[0];
    if (row === undefined) throw new AppError('not_found', `switch ${endpoint} has no port ${portId}`);
    return { portId, vlans: vlansOf(row) };
  });
}

async function apply(
  client: OvsdbClient,
  endpoint: string,
  settings: readonly SwitchPortSetting[],
  signal: AbortSignal | undefined,
): Promise<void> {
  if (settings.length === 0) return;
  const portIds = settings.map(({ portId }) => portId);
  await readPorts(client, endpoint, portIds, signal); // names an unknown port, which the transaction below could not
  const results = await client.transact(
    database,
    [...portIds.map(expectPort), ...settings.flatMap(changePort), bumpConfig, selectConfig],
    { signal },
  );
  await waitUntilRealised(client, endpoint, results.at(-1), signal);
  const found = await readPorts(client, endpoint, portIds, signal);
  for (const [index, { portId, vlans }] of settings.entries()) {
    const now = found[index]?.vlans ?? 'other';
    if (sameVlans(now, vlans)) continue;
    throw new AppError(
      'switch_error',
      `port ${portId} of switch ${endpoint} was set to ${describeVlans(vlans)} and reads ${describeVlans(now)}: something else writes it too`,
    );
  }
}

const selectConfig: OvsdbOperation = {
  op: 'select',
  table: 'Open_vSwitch',
  where: [],
  columns: ['next_cfg', 'cur_cfg'],
};

/** Asks ovs-vswitchd to say when it is done: it copies `next_cfg` to `cur_cfg` once the database is in effect. */
const bumpConfig: OvsdbOperation = {
  op: 'mutate',
  table: 'Open_vSwitch',
  where: [],
  mutations: [['next_cfg', '+=', 1]],
};

function selectPort(portId: string): OvsdbOperation {
  return {
    op: 'select',
    table: 'Port',
    where: [['name', '==', portId]],
    columns: ['name', 'tag', 'trunks', 'vlan_mode', 'protected'],
  };
}

/** Fails the transaction when the port has gone since it was looked at. */
function expectPort(portId: string): OvsdbOperation {
  const where = [['name', '==', portId]];
  return { op: 'wait', timeout: 0, table: 'Port', where, columns: ['name'], until: '==', rows: [{ name: portId }] };
}

function changePort({ portId, vlans }: SwitchPortSetting): OvsdbOperation[] {
  const table = 'Port';
  const port = ['name', '==', portId];
  if (isIsolated(vlans)) {
    const dead = { vlan_mode: 'trunk', trunks: ['set', [deadTrunk]], tag: emptySet, protected: true };
    const notYet = [port, ['protected', '==', true], ['trunks', '!=', deadTrunk]];
    return [
      { op: 'mutate', table, where: notYet, mutations: [['external_ids', 'insert', wasProtected]] },
      { op: 'update', table, where: [port], row: dead },
    ];
  }
  const protectedByUs = [port, ['trunks', '==', deadTrunk], ['external_ids', 'excludes', wasProtected]];
  return [
    { op: 'update', table, where: protectedByUs, row: { protected: false } },
    { op: 'mutate', table, where: [port], mutations: [['external_ids', 'delete', wasProtected]] },
    { op: 'update', table, where: [port], row: rowOf(vlans) },
  ];
}

/** As one would type it. */
function describeSetting({ portId, vlans }: SwitchPortSetting): string {
  const { untagged, tagged } = vlans;
  const columns = isIsolated(vlans)
    ? ['vlan_mode=trunk', `trunks=${deadTrunk}`, 'tag=[]', 'protected=true']
    : [
        `vlan_mode=${modeOf(vlans)}`,
        `tag=${untagged ?? '[]'}`,
        `trunks=${tagged.join(',') || '[]'}`,
        'protected=false',
      ];
  return `ovs-vsctl set port ${portId} ${columns.join(' ')}`;
}

function modeOf({ untagged, tagged }: PortVlans): string {
  if (tagged.length === 0) return 'access';
  return untagged === undefined ? 'trunk' : 'native-untagged';
}

/** A trunk of no VLANs is one of all, and carries its native VLAN whether or not it lists it. */
function rowOf(vlans: PortVlans): Record<string, unknown> {
  return { vlan_mode: modeOf(vlans), tag: vlans.untagged ?? emptySet, trunks: ['set', vlans.tagged] };
}

async function waitUntilRealised(
  client: OvsdbClient,
  endpoint: string,
  config: Record<string, unknown> | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  const system = rowsOf(config)[0];
  if (system === undefined) throw new AppError('switch_error', `the database of switch ${endpoint} is not initialised`);
  if (Number(system['cur_cfg']) >= Number(system['next_cfg'])) return;
  // "no row is behind" rather than "cur_cfg equals": another client's change may carry it past the awaited number
  const realised: OvsdbOperation = {
    op: 'wait',
    timeout: realiseTimeoutMs,
    table: 'Open_vSwitch',
    where: [['cur_cfg', '<', system['next_cfg']]],
    columns: ['cur_cfg'],
    until: '==',
    rows: [],
  };
  try {
    await client.transact(database, [realised], { signal, timeoutMs: realiseTimeoutMs + 5000 });
  } catch (cause) {
    if (!(cause instanceof AppError) || cause.code !== 'timeout') throw cause;
    throw new AppError('timeout', `ovs-vswitchd of switch ${endpoint} does not take over changes; is it running?`, {
      cause,
    });
  }
}

function vlansOf(row: Readonly<Record<string, unknown>>): FoundVlans {
  const [mode] = atoms(row['vlan_mode']);
  const [tag] = atoms(row['tag']).map(Number);
  const trunks = atoms(row['trunks']).map(Number);
  const isDead = mode === 'trunk' && trunks.length === 1 && trunks[0] === deadTrunk && row['protected'] === true;
  if (isDead) return isolated;
  // without a mode, a tag makes an access port
  if (tag !== undefined && (mode === 'access' || mode === undefined)) return portVlans(tag);
  if (trunks.length === 0 || trunks.includes(deadTrunk)) return 'other';
  if (mode === 'trunk' && tag === undefined) return portVlans(undefined, trunks);
  return mode === 'native-untagged' && tag !== undefined ? portVlans(tag, trunks) : 'other';
}

/** A set's members: a set of one is written as the atom itself (RFC 7047 §5.1). */
function atoms(value: unknown): unknown[] {
  return Array.isArray(value) && value[0] === 'set' ? (value[1] as unknown[]) : [value];
}

function rowsOf(result: Record<string, unknown> | undefined): Record<string, unknown>[] {
  return Array.isArray(result?.['rows']) ? (result['rows'] as Record<string, unknown>[]) : [];
}
