import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/**
 * A BMC that shows new BIOS settings before its task of them has ended, as Dell's may
 * (https://github.com/dsx-ai-factory/libredfish/pull/25): the step ends by the task's own word.
 */

let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
let name: string;
let endTask: () => void;
let count = 0;

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
});
afterAll(() => conductor.close());
beforeEach(async () => {
  count += 1;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac: `52:54:00:00:bc:0${count}` });
  name = await enrolSimulatedNode(operator, machine, `bios-task-${count}`);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  const { promise, resolve } = Promise.withResolvers<void>();
  machine.bmc.quirks.biosTaskEnds = promise;
  endTask = resolve;
  return () => machine.close();
});

const apply = {
  interface: 'bios',
  step: 'apply_configuration',
  args: { settings: [{ name: 'SysProfile', value: 'Performance' }] },
};
const shownAlready = 'the BMC to end its task of the BIOS settings, which it shows already';

async function clean(...clean_steps: readonly object[]): Promise<void> {
  await operator.provision(name, 'clean', { clean_steps, disable_ramdisk: true });
}

async function waitingFor(): Promise<unknown[]> {
  const { steps } = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as { steps: Record<string, unknown>[] };
  return steps.map((step) => step['waiting_for']);
}

const looks = () => machine.bmc.requests.filter(({ path }) => /TaskService\/Task(Monitor)?s\/./.test(path)).length;

/** The step is asked again and again, each time by what stands with it. */
async function expectWaiting(reason: string): Promise<void> {
  await expect.poll(waitingFor).toContain(reason);
  const before = looks();
  await expect.poll(looks, { timeout: 20_000 }).toBeGreaterThan(before);
  expect(await waitingFor()).toContain(reason);
}

test('the step waits for the end of the task, with the values shown', async () => {
  await clean(apply);
  await expectWaiting(shownAlready);
  endTask();
  await operator.waitForState(name, 'manageable');
  expect(machine.bmc.counters.resetsAmidWork).toBe(0);
});

test('a task that fails is a failure, whatever the values', async () => {
  machine.bmc.quirks.failTasks = true;
  await clean(apply);
  await expectWaiting(shownAlready);
  endTask();
  const { last_error } = await operator.waitForState(name, 'clean failed');
  expect(last_error).toMatch(/did not take the BIOS settings SysProfile .*The task failed on purpose/);
});

test('of a task that the BMC has forgotten the values show the end', async () => {
  await clean(apply);
  await expectWaiting(shownAlready);
  machine.bmc.restart();
  await operator.waitForState(name, 'manageable');
});

test('the task of a lost answer is found in the list', async () => {
  machine.bmc.inject({ method: 'PATCH', path: /Settings$/, dropAnswer: true, times: 1 });
  await clean(apply);
  await expectWaiting(shownAlready);
  expect(machine.bmc.faultsLeft()).toBe(0);
  endTask();
  await operator.waitForState(name, 'manageable');
});

test('a BMC that does not answer for its task has not ended it', async () => {
  await clean(apply);
  await expectWaiting(shownAlready);
  machine.bmc.inject({ method: 'GET', path: /TaskService\/Task(Monitor)?s\/./, status: 400, times: 2 });
  await expect.poll(async () => (await waitingFor()).join(), { timeout: 20_000 }).toContain('does not answer now');
  endTask();
  await operator.waitForState(name, 'manageable');
});

test('the defaults are back once their task has ended', async () => {
  await clean({ interface: 'bios', step: 'factory_reset' });
  await expectWaiting('the BMC to end its task of the reset of the BIOS settings');
  endTask();
  await operator.waitForState(name, 'manageable');
});

test('settings that take effect at the reset of volumes have a task, too', async () => {
  Object.assign(machine.bmc.quirks, { volumeApplyTimes: ['OnReset'], taskPolls: 0 });
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/raid_interface', value: 'redfish' }]);
  const logical_disks = [{ size_gb: 'MAX', raid_level: '1', disk_type: 'ssd' }];
  await operator.call('PUT', `/v1/nodes/${name}/states/raid`, { logical_disks });
  await clean(apply, { interface: 'raid', step: 'create_configuration' });
  await expectWaiting(shownAlready);
  endTask();
  await operator.waitForState(name, 'manageable');
});
