import { expect } from 'vitest';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import { planService } from '#conductor/flows/plan/plan-cluster-steps.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { decommissionTimeouts } from '#conductor/model/site/cluster-timeouts.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { requestDecommission, requestLeaveCluster, startBeside } from '#conductor/sites/nodes/request-cluster-flow.ts';
import { findRevisionByRole } from '#conductor/sites/revisions/revision-store.ts';
import { addedLabel, type ClustersOfNode } from '#test/support/clusters-of-node.ts';
import type { Beginning, FlowStage } from '#test/support/flow-stage.ts';
import { off } from '#test/support/step-node.ts';

/** One kind of flow: how it is begun, and how it must end. */
export interface FlowScenario extends Beginning {
  readonly flow: FlowKindName;
  readonly ends: string;
  readonly fails: string;
  readonly machineAtEnd: Readonly<Record<'power' | 'runs', string>>;
  /** Acts of the flow on the disk, each entry once or again. */
  readonly disk: readonly string[];
  /** Steps at the least; default 3. */
  readonly steps?: number;
  /** Where a failure leaves the machine; default off. */
  readonly machineAfterFailure?: Readonly<Record<'power' | 'runs', string>>;
  /** Default: it names a verb. */
  readonly advice?: string;
  /** Checks what must be so when it has succeeded. */
  readonly check?: () => void;
}

const running = { power: 'on', runs: 'instance' };
const serviceSteps = [{ interface: 'deploy', step: 'check' }];
const caller = { user: 'tester', project: undefined, via: undefined };

/** Every kind of flow but the wipe, on the stage's node, which is part of these clusters. */
export function flowScenarios(stage: FlowStage, clusters: ClustersOfNode): readonly FlowScenario[] {
  return [
    ...whileManageable(stage),
    ...inAndOutOfUse(stage),
    ...withInstance(stage),
    ...outOfClusters(stage, clusters),
    ...intoClusters(stage, clusters),
  ];
}

function whileManageable({
  name,
  operator,
  machine,
  makeAvailable,
  makeManageable,
}: FlowStage): readonly FlowScenario[] {
  /** Enrolled again: no verb leads back. */
  async function enrol(): Promise<void> {
    await makeAvailable();
    const node = await operator.node(name);
    await operator.call('DELETE', `/v1/nodes/${name}`);
    const { driver, properties, network_interface } = node;
    const body = { name, driver, properties, network_interface, driver_info: machine.driverInfo };
    const { uuid } = await operator.call('POST', '/v1/nodes', body);
    await operator.call('POST', '/v1/ports', { node_uuid: uuid, address: machine.mac });
  }

  return [
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
      flow: 'inspect_by_bmc',
      prepare: async () => {
        await makeManageable();
        await operator.call('PATCH', `/v1/nodes/${name}`, [
          { op: 'add', path: '/inspect_interface', value: 'redfish' },
        ]);
      },
      start: () => operator.provision(name, 'inspect'),
      ends: 'manageable',
      fails: 'inspect failed',
      machineAtEnd: off,
      disk: [],
      steps: 1,
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
  ];
}

function withInstance({ name, operator, machine, conductor, ...stage }: FlowStage): readonly FlowScenario[] {
  const { makeActive, ask } = stage;
  const askForRescue = () => operator.provision(name, 'rescue', { rescue_password: 'open sesame' });
  return [
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
        await stage.heal();
        if (/^rescue$|rescue failed$/.test(await stage.stateNow())) return;
        await makeActive();
        await askForRescue();
        await stage.rest();
      },
      start: () => operator.provision(name, 'unrescue'),
      ends: 'active',
      fails: 'unrescue failed',
      machineAtEnd: running,
      disk: [],
    },
  ];
}

/** Looks are seconds apart: here each is made as soon as it may be. */
function keepLooking({ conductor, name }: Pick<FlowStage, 'conductor' | 'name'>): void {
  const looking = setInterval(() => {
    void rowOf({ conductor, name }).then(
      async ({ uuid }) => {
        if (await findOpenFlow(conductor.context().db, uuid)) conductor.context().nudge(uuid);
        else clearInterval(looking);
      },
      clearInterval.bind(undefined, looking),
    );
  }, 100);
}

function rowOf({ conductor, name }: Pick<FlowStage, 'conductor' | 'name'>): Promise<NodeRow> {
  return getNode(conductor.context().db, name);
}

function intoClusters(stage: FlowStage, clusters: ClustersOfNode): readonly FlowScenario[] {
  const { name, conductor, makeActive } = stage;
  return [
    {
      flow: 'enter_service',
      prepare: async () => {
        await makeActive();
        await clusters.rejoin('boot-2');
      },
      start: async () => {
        const revision = await findRevisionByRole(conductor.context().db, 'committed');
        const times = { timeout: 60, every: 1 };
        const steps = planService({
          node: name,
          byKexec: false,
          kubernetes: { uids: [], bootIds: ['boot-1'], deployedAfter: 0, ...times },
          etcd: { clusters: ['control'], revisionId: revision?.id ?? 0, timeout: 60 },
          answers: { all: [{ by: 'http', target: `${conductor.url}/` }], inKubernetes: true, ...times },
        });
        await startBeside(conductor.context(), await rowOf(stage), { kind: 'enter_service', steps, caller });
        keepLooking(stage);
      },
      ends: 'active',
      fails: 'active',
      machineAtEnd: running,
      machineAfterFailure: running,
      advice: 'Then ask for it again',
      disk: [],
      steps: 3,
    },
  ];
}

function outOfClusters(stage: FlowStage, clusters: ClustersOfNode): readonly FlowScenario[] {
  const { name, conductor, makeActive, makeAvailable } = stage;
  return [
    {
      flow: 'decommission',
      prepare: async () => {
        await makeActive();
        await clusters.join();
      },
      start: async () => {
        const revision = await findRevisionByRole(conductor.context().db, 'committed');
        await requestDecommission(conductor.context(), await rowOf(stage), {
          revisionId: revision?.id ?? 0,
          timeouts: { ...decommissionTimeouts, drainGracePeriod: 1 },
          notInClusterOk: false,
          force: false,
          caller,
        });
        keepLooking(stage);
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
      flow: 'leave_cluster',
      prepare: async () => {
        await makeAvailable();
        await clusters.leaveAsDecommissioned();
      },
      start: async () => {
        await requestLeaveCluster(conductor.context(), await rowOf(stage), { notInClusterOk: false, caller });
        keepLooking(stage);
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
}

function inAndOutOfUse({ name, operator, ...stage }: FlowStage): readonly FlowScenario[] {
  const { makeActive, makeAvailable, makeManageable } = stage;
  return [
    {
      flow: 'clean',
      prepare: async () => {
        await makeManageable();
        await stage.setAutomatedClean(true);
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
      flow: 'teardown',
      prepare: makeActive,
      start: () => operator.provision(name, 'deleted'),
      ends: 'available',
      fails: 'error',
      machineAtEnd: off,
      disk: [],
    },
  ];
}
