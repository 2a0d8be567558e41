import {
  describePort,
  isSet,
  type NumberRange,
  type SwitchConnection,
  type SwitchDriver,
  type SwitchPortSetting,
  type SwitchPortState,
} from '#conductor/networks/switch-driver.ts';
import {
  changeOperations,
  describeBondChange,
  readTopology,
  selectTopology,
  stateAt,
  type Topology,
} from '#conductor/networks/switches/ovs-bonds.ts';
import {
  changePort,
  describeSetting,
  mirrorOutputs,
  rowsOf,
  selectMirrors,
  vlansOf,
} from '#conductor/networks/switches/ovs-port-rows.ts';
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
 *
 * Bonds need LACP: without it a bond here learns each address at one link alone, and drops what comes by the other.
 */

const database = 'Open_vSwitch';
/** How long ovs-vswitchd may take to put a changed database into effect. */
const realiseTimeoutMs = 10_000;

export const ovsDriver: SwitchDriver = {
  name: 'ovs',
  bonds: { modes: ['lacp'], pairs: [] },
  connect: ({ endpoint, bondNumbers }) => {
    const at = { client: createOvsdbClient(endpoint), endpoint, bondNumbers };
    return {
      readPorts: (portIds, signal) => readPorts(at, portIds, signal),
      apply: (settings, signal) => apply(at, settings, signal),
      describe: (settings, found) => [...describeBondChange(settings, found), ...describeVlansOf(settings)],
      close: async () => at.client.close(),
    } satisfies SwitchConnection;
  },
};

interface OvsAt {
  readonly client: OvsdbClient;
  readonly endpoint: string;
  readonly bondNumbers: NumberRange | undefined;
}

/** Describes VLANs of ports, those of a bond once. */
function describeVlansOf(settings: readonly SwitchPortSetting[]): string[] {
  const names = settings.map(({ portId, vlans, bond }) => ({ portId: bond ? `bond${bond.number}` : portId, vlans }));
  return [...new Set(names.map(describeSetting))];
}

async function readPorts(
  at: OvsAt,
  portIds: readonly string[],
  signal: AbortSignal | undefined,
): Promise<SwitchPortState[]> {
  const { client, endpoint, bondNumbers } = at;
  if (bondNumbers) {
    const topology = await readWhole(at, signal);
    return portIds.map((portId) => stateAt(topology, bondNumbers, portId) ?? noPort(endpoint, portId));
  }
  const asked = [selectConfig, selectMirrors, ...portIds.map(selectPort)];
  const [system, mirrors, ...ports] = await client.transact(database, asked, { signal });
  // without this a change that the database holds but ovs-vswitchd never took over would pass for done
  await waitUntilRealised(client, endpoint, system, signal);
  const outputs = mirrorOutputs(mirrors);
  return portIds.map((portId, index) => {
    const row = rowsOf(ports[index])[0];
    return row ? { portId, vlans: vlansOf(row, outputs) } : noPort(endpoint, portId);
  });
}

function noPort(endpoint: string, portId: string): never {
  throw new AppError('not_found', `switch ${endpoint} has no port ${portId}`);
}

/** All ports: who is in which bond is not to be asked for one of them. */
async function readWhole({ client, endpoint }: OvsAt, signal: AbortSignal | undefined): Promise<Topology> {
  const [system, ...tables] = await client.transact(database, [selectConfig, ...selectTopology], { signal });
  await waitUntilRealised(client, endpoint, system, signal);
  return readTopology(tables);
}

async function apply(
  at: OvsAt,
  settings: readonly SwitchPortSetting[],
  signal: AbortSignal | undefined,
): Promise<void> {
  if (settings.length === 0) return;
  const { client, endpoint } = at;
  const portIds = settings.map(({ portId }) => portId);
  const operations = await operationsFor(at, settings, signal);
  const results = await client.transact(database, [...operations, bumpConfig, selectConfig], { signal });
  await waitUntilRealised(client, endpoint, results.at(-1), signal);
  const found = await readPorts(at, portIds, signal);
  for (const [index, setting] of settings.entries()) {
    const now = found[index] ?? { vlans: 'other' };
    if (isSet(found[index], setting)) continue;
    throw new AppError(
      'switch_error',
      `port ${setting.portId} of switch ${endpoint} was set to ${describePort(setting)} and reads ${describePort(now)}: something else writes it too, or a mirror sends to it (ovs-vsctl list mirror)`,
    );
  }
}

/** @throws AppError `not_found` for an unknown port, which the transaction could not name */
async function operationsFor(
  at: OvsAt,
  settings: readonly SwitchPortSetting[],
  signal: AbortSignal | undefined,
): Promise<OvsdbOperation[]> {
  const { endpoint, bondNumbers } = at;
  const portIds = settings.map(({ portId }) => portId);
  if (bondNumbers) {
    const topology = await readWhole(at, signal);
    const unknown = portIds.find((portId) => !stateAt(topology, bondNumbers, portId));
    if (unknown !== undefined) noPort(endpoint, unknown);
    return changeOperations(topology, bondNumbers, settings);
  }
  await readPorts(at, portIds, signal);
  return [...portIds.map(expectPort), ...settings.flatMap(changePort)];
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
    columns: ['_uuid', 'name', 'tag', 'trunks', 'vlan_mode', 'protected'],
  };
}

/** Fails the transaction when the port has gone since it was looked at. */
function expectPort(portId: string): OvsdbOperation {
  const where = [['name', '==', portId]];
  return { op: 'wait', timeout: 0, table: 'Port', where, columns: ['name'], until: '==', rows: [{ name: portId }] };
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
