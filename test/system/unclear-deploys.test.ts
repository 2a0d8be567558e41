import { rm } from 'node:fs/promises';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import type { Fault } from '#test/simulators/redfish/faults.ts';
import { type VendorName, vendorNames, vendors } from '#test/simulators/redfish/vendors.ts';
import { makeBootMediumDirectory } from '#test/support/boot-medium-directory.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, isAtRest, type Operator } from '#test/support/operator.ts';

/** Whole deploys of machines whose BMC does what it is asked for, or will do it, and doesn't say so clearly. */

let directory: string;
let conductor: ConductorInProcess;
let operator: Operator;
let hasty: Operator;
let count = 0;

beforeAll(async () => {
  directory = await makeBootMediumDirectory();
  conductor = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_RAMDISK_DIR: directory },
    drivers: { redfish: { retryMs: 5, timings: { pollMs: 50, resendAfterMs: 500 } } },
  });
  operator = createOperator(conductor.url, { retries: 30 });
  hasty = createOperator(conductor.url);
});
afterAll(async () => {
  await conductor.close();
  await rm(directory, { recursive: true });
});

type Call = Pick<Fault, 'path'> & { readonly method: string };

/** Every call of a deploy, at any maker's BMC. */
const calls = {
  login: { method: 'POST', path: /Sessions$/ },
  root: { method: 'GET', path: /^\/redfish\/v1\/$/ },
  power: { method: 'POST', path: /\.Reset$/ },
  'boot device': { method: 'PATCH', path: /Systems\/[^/]+(\/(SD|Settings|Pending))?$/ },
  'media in': { method: 'POST', path: /InsertMedia$/ },
  'media out': { method: 'POST', path: /EjectMedia$/ },
  'media by PATCH': { method: 'PATCH', path: /VirtualMedia\/[^/]+$/ },
  settings: { method: 'PATCH', path: /Bios(\/[^/]+)?$/i },
  'power state': { method: 'GET', path: /Systems\/[^/]+$/ },
  'settings shown': { method: 'GET', path: /Bios(\/[^/]+)?$/i },
  slots: { method: 'GET', path: /VirtualMedia$/ },
  slot: { method: 'GET', path: /VirtualMedia\/[^/]+$/ },
  manager: { method: 'GET', path: /Managers\/[^/]+$/ },
  update: { method: 'POST', path: /SimpleUpdate$/ },
  'firmware shown': { method: 'GET', path: /FirmwareInventory(\/[^/]+)?$/ },
  volume: { method: 'POST', path: /\/Volumes$/ },
  'volumes shown': { method: 'GET', path: /\/Volumes(\/[^/]+)?$/ },
} as const satisfies Readonly<Record<string, Call>>;
type CallName = keyof typeof calls;
const callNames = Object.keys(calls) as CallName[];

const task = (state: string) => ({ body: { '@odata.id': '/redfish/v1/TaskService/Tasks/9', TaskState: state } });
const taskPath = { method: 'GET', path: /TaskService\/Tasks\/9$/ };
const page = '<html><body>Please wait</body></html>';
const accepted = (location: string): Partial<Fault> => ({ actsAs: 202, headers: { Location: location } });

/** Fault that befalls a call, and the looks at its task; how often, where nothing else befalls it. */
interface Unclear {
  readonly times: number;
  /** Whether it befalls only what changes something. */
  readonly isOfWrites?: boolean;
  readonly faults: (call: Call, times: number) => readonly Fault[];
}

const unclear: Readonly<Record<string, Unclear>> = {
  'answer is lost': { times: 2, faults: (call, times) => [{ ...call, dropAnswer: true, times }] },
  'connection is cut before': { times: 1, faults: (call, times) => [{ ...call, drop: true, times }] },
  'monitor is gone (404)': {
    times: 2,
    isOfWrites: true,
    faults: (call, times) => [{ ...call, ...accepted('/redfish/v1/TaskService/Monitors/1'), times }],
  },
  'monitor is gone (410)': {
    times: 2,
    isOfWrites: true,
    faults: (call, times) => [
      { ...call, ...accepted('/redfish/v1/TaskService/Monitors/2'), times },
      { method: 'GET', path: /Monitors\/2$/, status: 410, times: 1000 },
    ],
  },
  'monitor fails for a while': {
    times: 1,
    isOfWrites: true,
    faults: (call, times) => [
      { ...call, ...accepted('/redfish/v1/TaskService/Monitors/3'), times },
      { method: 'GET', path: /Monitors\/3$/, status: 500, times: 8 },
    ],
  },
  'Location is a task, always 200': {
    times: 2,
    isOfWrites: true,
    faults: (call, times) => [
      { ...call, ...accepted('/redfish/v1/TaskService/Tasks/9'), times },
      ...Array.from({ length: times }, (): Fault[] => [
        { ...taskPath, ...task('Running'), times: 2 },
        { ...taskPath, ...task('Completed') },
      ]).flat(),
    ],
  },
  '202 names no task': { times: 2, isOfWrites: true, faults: (call, times) => [{ ...call, actsAs: 202, times }] },
  'success is called a failure': {
    times: 2,
    isOfWrites: true,
    faults: (call, times) => [{ ...call, actsAs: 500, times }],
  },
  'web server fails': { times: 8, faults: (call, times) => [{ ...call, status: 500, times }] },
  'web server is away': { times: 8, faults: (call, times) => [{ ...call, status: 503, times }] },
  'login is unknown': { times: 1, faults: (call, times) => [{ ...call, status: 401, times }] },
  'session is forbidden': { times: 1, faults: (call, times) => [{ ...call, status: 403, times }] },
  'page comes in its place': { times: 1, faults: (call, times) => [{ ...call, body: page, times }] },
  'page comes with 404': { times: 1, faults: (call, times) => [{ ...call, status: 404, body: page, times }] },
};
const unclearNames = Object.keys(unclear);

/** The faults at a call; none where it can't be so. */
function faultsAt(name: string, call: CallName, times?: number): readonly Fault[] {
  const { isOfWrites = false, faults, times: most } = unclear[name] ?? { times: 0, faults: () => [] };
  if (isOfWrites && (calls[call].method === 'GET' || call === 'login')) return [];
  return faults(calls[call], times ?? most);
}

const settings = [{ name: 'NumCores', value: '4' }];
const setting = { interface: 'bios', step: 'apply_configuration', args: { settings }, priority: 150 };
const images = [{ component: 'bmc', url: 'http://192.0.2.7/bmc-3.0.0.bin' }];
const update = { interface: 'firmware', step: 'update', args: { settings: images }, priority: 140 };
const logical_disks = [{ size_gb: 100, raid_level: '1', volume_name: 'data' }];
const raid_config = { logical_disks };
const volume = { interface: 'raid', step: 'apply_configuration', args: { raid_config }, priority: 130 };

async function withMachine(
  vendor: VendorName | undefined,
  use: (machine: SimulatedNode, deploy: () => Promise<void>) => Promise<void>,
): Promise<void> {
  count += 1;
  const name = `unclear-${count}`;
  const mac = `52:54:00:01:${[count >> 8, count & 255].map((byte) => byte.toString(16).padStart(2, '0')).join(':')}`;
  const machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  try {
    const { quirks } = machine.bmc;
    if (vendor) Object.assign(quirks, vendors[vendor]);
    const media = {
      boot_interface: 'redfish-virtual-media',
      driver_info: { ...machine.driverInfo, external_http_url: conductor.url },
    };
    await enrolSimulatedNode(operator, machine, name, quirks.virtualMedia === 'none' ? {} : media);
    await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/raid_interface', value: 'redfish' }]);
    const deploy_steps = quirks.noBiosAttributes ? [] : vendor ? [setting] : [setting, update, volume];
    await use(machine, async () => {
      await operator.provision(name, 'active', { deploy_steps });
      const { provision_state: state, last_error: error } = await restOf(name);
      expect({ state, error }).toEqual({ state: 'active', error: null });
    });
  } finally {
    await machine.close();
  }
}

/** An update that was refused is asked for ever more rarely: here five minutes pass between any two looks. */
const passMinutes = (name: string) =>
  conductor.context().db.execute(
    sql`update flow_steps set output = jsonb_set(output, '{asked,lastAt}', to_jsonb((output#>>'{asked,lastAt}')::float8 - 300000))
        where jsonb_typeof(output->'asked') = 'object' and jsonb_array_length(output->'updates') = 0
          and (output#>>'{asked,lastAt}')::float8 > ${Date.now() - 300_000}::float8 and flow_uuid in
            (select flows.uuid from flows join nodes on nodes.uuid = node_uuid where nodes.name = ${name})`,
  );

/** Looks are seconds apart: here each is made as soon as it may be. */
function restOf(name: string): Promise<Readonly<Record<string, unknown>>> {
  return waitUntil(
    `${name} to rest`,
    async () => {
      const node = await operator.node(name);
      if (isAtRest(node)) return node;
      await passMinutes(name);
      await hasty.call('POST', `/v1/nodes/${name}/flow/retry`).catch(() => undefined);
      return undefined;
    },
    { timeoutMs: 10 * 60_000, everyMs: 250 },
  );
}

/** Lists what the deploy has done to the machine, beyond what is said twice and done once. */
function acts(machine: SimulatedNode, before: number): object {
  const { disk, bmc } = machine;
  const { powerChanges, resetsAmidWork } = bmc.counters;
  return { disk: [...disk], powerChanges: powerChanges - before, resetsAmidWork };
}

/** Acts of a deploy at a BMC that is clear. */
const clearly = new Map<VendorName | undefined, Promise<object>>();

/** Deploys a machine whose BMC meets the faults. @returns what has been done to it */
async function deployed(vendor: VendorName | undefined, faults: readonly Fault[] = []): Promise<object> {
  let did = {};
  await withMachine(vendor, async (machine, deploy) => {
    const before = machine.bmc.counters.powerChanges;
    machine.bmc.dropSessions();
    for (const fault of faults) machine.bmc.inject(fault);
    await deploy();
    did = acts(machine, before);
  });
  return did;
}

function deployedClearly(vendor: VendorName | undefined): Promise<object> {
  const known = clearly.get(vendor) ?? deployed(vendor);
  clearly.set(vendor, known);
  return known;
}

const alone = unclearNames.flatMap((name) =>
  callNames.map((call) => ({ name, call, faults: faultsAt(name, call) })).filter(({ faults }) => faults.length > 0),
);

test.concurrent.each(alone)('$name at $call: active, nothing twice', async ({ faults }) => {
  expect(await deployed(undefined, faults)).toEqual(await deployedClearly(undefined));
});

const everywhere = vendorNames.flatMap((vendor) => unclearNames.map((name) => ({ vendor, name })));

test.concurrent.each(everywhere)('$vendor: $name at each call: active, nothing twice', async ({ vendor, name }) => {
  const faults = callNames.flatMap((call) => faultsAt(name, call, 1));
  expect(await deployed(vendor, faults)).toEqual(await deployedClearly(vendor));
});
