import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
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
const name = 'everyman';

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac: '52:54:00:00:03:01' });
  await enrolSimulatedNode(operator, machine, name);
});
afterAll(async () => {
  await machine.close();
  await conductor.close();
});

interface Scenario {
  readonly flow: string;
  /** Brings the node to where the flow starts. */
  readonly prepare: () => Promise<void>;
  readonly start: () => Promise<void>;
  readonly ends: string;
  readonly fails: string;
  readonly machineAtEnd: Readonly<Record<'power' | 'runs', string>>;
  /** What the flow does to the disk, each entry once or again. */
  readonly disk: readonly string[];
}

const off = { power: 'off', runs: 'nothing' };
const setAutomatedClean = (value: boolean) =>
  operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/automated_clean', value }]);

/** From wherever an earlier test left it to `available`, without cleaning and with the instance's wishes in place. */
async function makeAvailable(): Promise<void> {
  conductor.atCheckpoints(() => 'go on');
  const state = (await operator.node(name))['provision_state'];
  await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
  await setAutomatedClean(false);
  if (state === 'active' || state === 'deploy failed' || state === 'error') await operator.provision(name, 'deleted');
  if (state === 'clean failed' || state === 'inspect failed' || state === 'enroll') {
    await operator.provision(name, 'manage');
    await operator.waitForState(name, 'manageable');
  }
  if ((await operator.node(name))['provision_state'] === 'manageable') await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
}

async function makeActive(): Promise<void> {
  await makeAvailable();
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
}

const scenarios: readonly Scenario[] = [
  {
    flow: 'deploy',
    prepare: makeAvailable,
    start: () => operator.provision(name, 'active'),
    ends: 'active',
    fails: 'deploy failed',
    machineAtEnd: { power: 'on', runs: 'instance' },
    disk: ['prepare_disks', 'write_image demo.raw', 'tune_image'],
  },
  {
    flow: 'clean',
    prepare: async () => {
      await makeAvailable();
      await operator.provision(name, 'manage');
      await operator.waitForState(name, 'manageable');
      await setAutomatedClean(true);
    },
    start: () => operator.provision(name, 'provide'),
    ends: 'available',
    fails: 'clean failed',
    machineAtEnd: off,
    disk: ['erase_devices_metadata'],
  },
  {
    flow: 'inspect',
    prepare: async () => {
      await makeAvailable();
      await operator.provision(name, 'manage');
      await operator.waitForState(name, 'manageable');
    },
    start: () => operator.provision(name, 'inspect'),
    ends: 'manageable',
    fails: 'inspect failed',
    machineAtEnd: off,
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
];

describe.each(scenarios)('$flow', (scenario) => {
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
      await operator.waitForState(name, scenario.ends);
      expect(machine.state(), `died at checkpoint ${checkpoint}`).toEqual(scenario.machineAtEnd);
      expect([...new Set(machine.disk.slice(disk))], `died at checkpoint ${checkpoint}`).toEqual(scenario.disk);
    }
    // at the least: three steps, each started, acted, recorded
    expect(conductor.deaths() - before).toBeGreaterThanOrEqual(9);
  });

  test('a failure of any step ends in the failed state, machine off', async () => {
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
      await waitUntil(
        'the blow, or the end of the flow',
        async () => struck || (await operator.node(name))['target_provision_state'] === null || undefined,
        { timeoutMs: 30_000 },
      );
      if (!struck) break;
      failures += 1;
      const node = await operator.waitForState(name, scenario.fails);
      expect(node['last_error'], `action ${action}`).toContain('struck by the test');
      expect(node['reservation'], `action ${action}`).toBeNull();
      expect(machine.state(), `action ${action}`).toEqual(off);
    }
    expect(failures).toBeGreaterThanOrEqual(3);
  });
});
