import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { flowKinds } from '#conductor/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/flows/flow-states.ts';
import { findOpenFlow } from '#conductor/flows/flow-store.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { findRevisionByRole } from '#conductor/sites/revisions/revision-store.ts';
import {
  decommissionTimeouts,
  requestDecommission,
  requestLeaveCluster,
} from '#conductor/teardown/request-decommission.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { addedLabel, type ClustersOfNode, startClustersOfNode } from '#test/support/clusters-of-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/**
 * For every kind of flow: a conductor that dies at any checkpoint (so that any step may run twice) ends in the same
 * state, and a failure after any step ends in the failed state with nothing left running.
 */

let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
let clusters: ClustersOfNode;
const name = 'everyman';

beforeAll(async () => {
  // the silence of an agent that has stood aside is soon told
  clusters = await startClustersOfNode(name);
  conductor = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_HEARTBEAT_TIMEOUT: '4', BATON_KUBECONFIG: clusters.small.kubeconfigFile },
  });
  await clusters.commit(conductor.url);
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: '52:54:00:00:03:01',
    cleanSteps: [
      { step: 'erase_devices_metadata', priority: 99 },
      { step: 'flash', rebootRequested: true },
    ],
    serviceSteps: [{ step: 'check' }],
  });
  await enrolSimulatedNode(operator, machine, name);
});
afterAll(async () => {
  await machine.close();
  await conductor.close();
  await clusters.close();
});

interface Scenario {
  readonly flow: FlowKindName;
  /** Brings the node to where the flow starts. */
  readonly prepare: () => Promise<void>;
  readonly start: () => Promise<void>;
  readonly ends: string;
  readonly fails: string;
  readonly machineAtEnd: Readonly<Record<'power' | 'runs', string>>;
  /** What the flow does to the disk, each entry once or again. */
  readonly disk: readonly string[];
  /** Steps at the least; default 3. */
  readonly steps?: number;
  /** Where a failure leaves the machine; default off. */
  readonly machineAfterFailure?: Readonly<Record<'power' | 'runs', string>>;
  /** Default: it names a verb. */
  readonly advice?: string;
  /** What must be so when it has succeeded. */
  readonly check?: () => void;
}

const off = { power: 'off', runs: 'nothing' };
const running = { power: 'on', runs: 'instance' };
const setAutomatedClean = (value: boolean) =>
  operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/automated_clean', value }]);
const stateNow = async () => String((await operator.node(name))['provision_state']);

const rest = () =>
  waitUntil(
    'the flow to end and the node to rest',
    async () => {
      const { ended_at: endedAt } = await operator.call('GET', `/v1/nodes/${name}/flow`);
      const node = await operator.node(name);
      return endedAt !== null && node['target_provision_state'] === null ? node : undefined;
    },
    { timeoutMs: 30_000, everyMs: 50 },
  );

async function ask(verb: string, more: Record<string, unknown> = {}): Promise<void> {
  await operator.provision(name, verb, more);
  await rest();
}

/** From where a test has left the node to `available`, without cleaning and with the instance's wishes in place. */
async function makeAvailable(): Promise<void> {
  await heal();
  const verbs: Readonly<Record<string, string>> = { manageable: 'provide', enroll: 'manage' };
  const taken = ['active', 'error', 'deploy failed', 'service failed', 'rescue', 'rescue failed', 'unrescue failed'];
  for (let state = await stateNow(); state !== 'available'; state = await stateNow()) {
    await ask(verbs[state] ?? (taken.includes(state) ? 'deleted' : 'manage'));
  }
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
}

async function heal(): Promise<void> {
  conductor.atCheckpoints(() => 'go on');
  await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
  await setAutomatedClean(false);
}

async function makeManageable(): Promise<void> {
  await makeAvailable();
  await ask('manage');
}

async function makeActive(): Promise<void> {
  await heal();
  const state = await stateNow();
  if (state === 'service failed') await ask('abort');
  if (state === 'rescue' || state.endsWith('rescue failed')) await ask('unrescue');
  if ((await stateNow()) === 'active' && machine.state().runs === 'instance') return;
  await makeAvailable();
  await ask('active');
}

/** Enrolled anew: no verb leads back. */
async function enrol(): Promise<void> {
  await makeAvailable();
  const node = await operator.node(name);
  await operator.call('DELETE', `/v1/nodes/${name}`);
  const { driver, properties, network_interface } = node;
  const body = { name, driver, properties, network_interface, driver_info: machine.driverInfo };
  const { uuid } = await operator.call('POST', '/v1/nodes', body);
  await operator.call('POST', '/v1/ports', { node_uuid: uuid, address: machine.mac });
}

const serviceSteps = [{ interface: 'deploy', step: 'check' }];
const askForRescue = () => operator.provision(name, 'rescue', { rescue_password: 'open sesame' });

const caller = { user: 'tester', project: undefined, via: undefined };
const row = async () => getNode(conductor.context().db, name);

/** Looks are seconds apart: here each is made as soon as it may be. */
function keepLooking(): void {
  const looking = setInterval(() => {
    void row().then(
      async ({ uuid }) => {
        if (await findOpenFlow(conductor.context().db, uuid)) conductor.context().nudge(uuid);
        else clearInterval(looking);
      },
      clearInterval.bind(undefined, looking),
    );
  }, 100);
}

const scenarios: readonly Scenario[] = [
  {
    flow: 'verify',
    prepare: enrol,
    start: () => operator.provision(name, 'manage'),
    ends: 'manageable',
    fails: 'enroll',
    machineAtEnd: off,
    disk: [],
    steps: 1,
  },
  {
    flow: 'adopt',
    prepare: makeManageable,
    start: () => operator.provision(name, 'adopt'),
    ends: 'active',
    fails: 'adopt failed',
    machineAtEnd: off,
    disk: [],
    steps: 1,
  },
  {
    flow: 'inspect',
    prepare: makeManageable,
    start: () => operator.provision(name, 'inspect'),
    ends: 'manageable',
    fails: 'inspect failed',
    machineAtEnd: off,
    disk: [],
  },
  {
    flow: 'manual_clean',
    prepare: makeManageable,
    start: () =>
      operator.provision(name, 'clean', {
        clean_steps: [
          { interface: 'bios', step: 'factory_reset' },
          { interface: 'deploy', step: 'flash' },
          { interface: 'deploy', step: 'erase_devices_metadata' },
        ],
      }),
    ends: 'manageable',
    fails: 'clean failed',
    machineAtEnd: off,
    disk: ['flash', 'erase_devices_metadata'],
    steps: 7,
  },
  {
    flow: 'clean',
    prepare: async () => {
      await makeManageable();
      await setAutomatedClean(true);
    },
    start: () => operator.provision(name, 'provide'),
    ends: 'available',
    fails: 'clean failed',
    machineAtEnd: off,
    disk: ['erase_devices_metadata'],
  },
  {
    flow: 'deploy',
    prepare: makeAvailable,
    start: () => operator.provision(name, 'active'),
    ends: 'active',
    fails: 'deploy failed',
    machineAtEnd: running,
    disk: ['prepare_disks', 'write_image demo.raw', 'tune_image'],
  },
  {
    flow: 'service',
    prepare: makeActive,
    start: () => operator.provision(name, 'service', { service_steps: serviceSteps }),
    ends: 'active',
    fails: 'service failed',
    machineAtEnd: running,
    disk: ['check'],
    steps: 5,
  },
  {
    flow: 'restore',
    prepare: async () => {
      await makeActive();
      machine.faults.failStep = { step: 'check', message: 'the card is dead', once: true };
      await ask('service', { service_steps: serviceSteps });
      conductor.atCheckpoints(() => 'go on');
    },
    // in maintenance, into which the failed service has put the node
    start: () => operator.provision(name, 'abort'),
    ends: 'active',
    fails: 'service failed',
    machineAtEnd: running,
    disk: [],
  },
  {
    flow: 'rescue',
    prepare: makeActive,
    start: askForRescue,
    ends: 'rescue',
    fails: 'rescue failed',
    machineAtEnd: { power: 'on', runs: 'ramdisk' },
    disk: [],
  },
  {
    flow: 'unrescue',
    prepare: async () => {
      await heal();
      if (/^rescue$|rescue failed$/.test(await stateNow())) return;
      await makeActive();
      await askForRescue();
      await rest();
    },
    start: () => operator.provision(name, 'unrescue'),
    ends: 'active',
    fails: 'unrescue failed',
    machineAtEnd: running,
    disk: [],
  },
  {
    flow: 'teardown',
    prepare: makeActive,
    start: () => operator.provision(name, 'deleted'),
    ends: 'available',
    fails: 'error',
    machineAtEnd: off,
    disk: [],
  },
  {
    flow: 'decommission',
    prepare: async () => {
      await makeActive();
      await clusters.join();
    },
    start: async () => {
      const revision = await findRevisionByRole(conductor.context().db, 'committed');
      await requestDecommission(conductor.context(), await row(), {
        revisionId: revision?.id ?? 0,
        timeouts: { ...decommissionTimeouts, drainGracePeriod: 1 },
        notInClusterOk: false,
        caller,
      });
      keepLooking();
    },
    ends: 'active',
    fails: 'active',
    machineAtEnd: running,
    machineAfterFailure: running,
    advice: 'Then ask for it again',
    disk: [],
    steps: 5,
    check: () => {
      const node = clusters.small.node(name);
      expect(node?.spec).toMatchObject({ unschedulable: true });
      expect(node?.metadata.labels).not.toHaveProperty(addedLabel.key);
      expect(clusters.small.podsOn(name).map(({ metadata }) => metadata.labels?.['app'])).toEqual([
        'baton-kubelet-shutdown',
      ]);
      expect(clusters.members()).toEqual(['elsewhere']);
      expect(clusters.small.simulator.world.isRunning(name)).toBe(false);
    },
  },
  {
    flow: 'wipe',
    prepare: makeManageable,
    start: () => operator.provision(name, 'provide', { wipe: { preserve_local_storage: false } }),
    ends: 'available',
    fails: 'clean failed',
    machineAtEnd: off,
    disk: ['erase_devices disk-of-52:54:00:00:03:01'],
    steps: 5,
  },
  {
    flow: 'leave_cluster',
    prepare: async () => {
      await makeAvailable();
      await clusters.leaveAsDecommissioned();
    },
    start: async () => {
      await requestLeaveCluster(conductor.context(), await row(), { notInClusterOk: false, caller });
      keepLooking();
    },
    ends: 'available',
    fails: 'available',
    machineAtEnd: off,
    advice: 'Then ask for it again',
    disk: [],
    steps: 1,
    check: () => expect(clusters.small.node(name)).toBeUndefined(),
  },
];

test('no kind of flow is left out', () => {
  expect(scenarios.map(({ flow }) => flow).toSorted()).toEqual(Object.keys(flowKinds).toSorted());
});

async function lastFlow(): Promise<string> {
  const { kind, state } = await operator.call('GET', `/v1/nodes/${name}/flow`);
  return `${String(kind)} ${String(state)}`;
}

describe.each(scenarios)('$flow', (scenario) => {
  const { steps = 3 } = scenario;

  test('a conductor that dies at any checkpoint ends in the same state', async () => {
    const before = conductor.deaths();
    let struck = true;
    for (let checkpoint = 1; struck; checkpoint += 1) {
      await scenario.prepare();
      const disk = machine.disk.length;
      struck = false;
      conductor.atCheckpoints((_, passed) => {
        if (passed !== checkpoint) return 'go on';
        struck = true;
        return 'die';
      });
      await scenario.start();
      const node = await rest();
      const end = {
        state: node['provision_state'],
        flow: await lastFlow(),
        reservation: node['reservation'],
        machine: machine.state(),
        disk: [...new Set(machine.disk.slice(disk))],
      };
      expect(end, `died at checkpoint ${checkpoint}`).toEqual({
        state: scenario.ends,
        flow: `${scenario.flow} succeeded`,
        reservation: null,
        machine: scenario.machineAtEnd,
        disk: scenario.disk,
      });
      scenario.check?.();
    }
    // each step is started, acts, and is recorded
    expect(conductor.deaths() - before).toBeGreaterThanOrEqual(3 * steps);
  });

  test('a failure of any step ends in the failed state, the machine made safe', async () => {
    let failures = 0;
    let struck = true;
    for (let action = 1; struck; action += 1) {
      await scenario.prepare();
      struck = false;
      let acted = 0;
      conductor.atCheckpoints((checkpoint) => {
        acted += checkpoint === 'acted' ? 1 : 0;
        if (checkpoint !== 'acted' || acted !== action) return 'go on';
        struck = true;
        return new AppError('bmc_error', 'struck by the test');
      });
      await scenario.start();
      const node = await rest();
      if (!struck) break;
      failures += 1;
      expect(node, `action ${action}`).toMatchObject({ provision_state: scenario.fails, reservation: null });
      expect(node['last_error'], `action ${action}`).toContain('struck by the test');
      const flow = await operator.call('GET', `/v1/nodes/${name}/flow`);
      expect(flow, `action ${action}`).toMatchObject({
        state: 'failed',
        advice: expect.stringContaining(scenario.advice ?? '`ba') as unknown,
      });
      expect(machine.state(), `action ${action}`).toEqual(scenario.machineAfterFailure ?? off);
    }
    expect(failures).toBeGreaterThanOrEqual(steps);
  });
});
