import { describe, expect, test } from 'vitest';
import type { Fault } from '#test/simulators/redfish/faults.ts';
import { waitUntil } from '#test/support/step-node.ts';
import { bios, bmc, nic, useUpdateStage } from '#test/support/update-stage.ts';

/**
 * Answers that come amid work and are no end of it, though their status is one of success: nothing but the task's own word,
 * or what has been made, ends it, and until then nothing switches power.
 */

const stage = useUpdateStage('unclear-task', 'b9', { BATON_RETRY_TIMEOUT: '2' });
const { clean, look, says, rests, version, posts, pass } = stage;

const resets = () => posts('ComputerSystem.Reset');
const polled = /TaskMonitors\/|Tasks\/./;
const polls = () => stage.machine.bmc.requests.filter((each) => polled.test(each.path)).length;
const morePolls = async () => {
  const before = polls();
  await waitUntil('more polls', async () => {
    await look();
    return polls() > before + 2 || undefined;
  });
};

const path = '/redfish/v1/TaskService/Tasks/1';
const GeneralError = { error: { code: 'Base.1.8.GeneralError', message: 'A general error has occurred.' } };
const InternalError = { error: { code: 'Base.1.8.InternalError', message: 'An internal error has occurred.' } };

const answers: readonly (readonly [string, Omit<Fault, 'path'>])[] = [
  ['nothing', { status: 200 }],
  ['a list', { body: [] }],
  ['an error and its context', { body: { '@odata.context': '/redfish/v1/$metadata#Task', ...GeneralError } }],
  [
    'an error in the place of the task',
    { body: { '@odata.id': path, '@odata.type': '#Task.v1_4_3.Task', ...InternalError } },
  ],
  [
    'a task whose state is null',
    { body: { '@odata.id': path, Id: '1', Name: 'Update', TaskState: null, PercentComplete: 35 } },
  ],
  ['a redirect to the service root', { status: 302, headers: { Location: '/redfish/v1/' } }],
];

describe.each(answers)('a BMC that answers once with %s amid a flash', (_what, fault) => {
  test('is asked again, and the machine is not reset before the task has ended', async () => {
    await clean(bios);
    await says('the BMC to update bios');
    const before = resets();
    stage.machine.bmc.inject({ ...fault, method: 'GET', path: polled });
    await morePolls();
    expect(stage.machine.bmc.faultsLeft()).toBe(0);
    await says('waiting_for":"the BMC to update bios"');
    expect(resets()).toBe(before);
    stage.letItEnd();
    await rests('manageable');
    expect(await version('bios')).toBe('2.1.0');
    expect(stage.machine.bmc.counters.resetsAmidWork).toBe(0);
  });
});

const simpleUpdate = { method: 'POST', path: /SimpleUpdate$/ };

test('a Location that is no task is not followed: the list of tasks shows the update', async () => {
  const headers = { Location: '/redfish/v1/UpdateService' };
  stage.machine.bmc.inject({ ...simpleUpdate, actsAs: 202, headers });
  await clean(bios);
  await says('the BMC to update bios');
  const before = resets();
  await morePolls();
  expect(resets()).toBe(before);
  stage.letItEnd();
  await rests('manageable');
  expect(await version('bios')).toBe('2.1.0');
  expect(stage.machine.bmc.counters.resetsAmidWork).toBe(0);
});

test('a Location that has never told the state of a task leaves it to the version', async () => {
  const headers = { Location: '/redfish/v1/Managers/1' };
  stage.machine.bmc.quirks.taskList = 'empty';
  stage.machine.bmc.inject({ ...simpleUpdate, actsAs: 202, headers });
  await clean(bmc);
  await says('the update of bmc, to show its version"');
  const before = resets();
  await look();
  await says('the update of bmc, to show its version"');
  expect(resets()).toBe(before);
  stage.letItEnd();
  await rests('manageable');
  expect(await version('bmc')).toBe('3.0.0');
  expect(stage.machine.bmc.counters.resetsAmidWork).toBe(0);
});

test('an update that is answered 200 with an error alone has failed in its words, where the tasks show none', async () => {
  stage.letItEnd();
  await clean(bmc);
  await rests('manageable');
  stage.machine.bmc.inject({ ...simpleUpdate, body: GeneralError, times: Number.POSITIVE_INFINITY });
  await clean(nic);
  await says('answered 200: A general error has occurred.');
  await waitUntil('clean failed', async () => {
    // a look that is under way notes its own time over it
    await pass(6 * 60_000);
    await look();
    const { provision_state: now, reservation } = await stage.operator.node(stage.name);
    return (now === 'clean failed' && reservation === null) || undefined;
  });
  const { last_error: error } = await stage.operator.node(stage.name);
  expect(error).toContain('answered 200: A general error has occurred.');
  expect(await version('NIC.Slot.1')).toBe('1.0.0');
});

async function killConductor(): Promise<void> {
  const { conductor } = stage;
  const before = conductor.deaths();
  conductor.atCheckpoints(() => (conductor.deaths() === before ? 'die' : 'go on'));
  await waitUntil('a death', async () => {
    await look();
    return conductor.deaths() > before || undefined;
  });
  await conductor.reborn();
}

test('BIOS defaults are not in force by an error in the place of Bios, and power stays held', async () => {
  const { machine, operator, hasty, name } = stage;
  const { promise, resolve } = Promise.withResolvers<void>();
  machine.bmc.quirks.biosAppliesAfter = promise;
  const step = { interface: 'bios', step: 'factory_reset' };
  await operator.provision(name, 'clean', { clean_steps: [step], disable_ramdisk: true });
  await says('to go back to its default settings');
  const body = { '@odata.id': '/redfish/v1/Systems/1/Bios', '@odata.type': '#Bios.v1_1_0.Bios', ...InternalError };
  machine.bmc.inject({ method: 'GET', path: /Bios$/, body, times: 12 });
  await waitUntil('the answers', async () => {
    await look();
    return machine.bmc.faultsLeft() === 0 || undefined;
  });
  await says('to go back to its default settings');
  // another conductor, which has not seen the settings before
  const root = { '@odata.id': '/redfish/v1/', Id: 'RootService', Name: 'Root' };
  machine.bmc.inject({ method: 'GET', path: /Bios$/, body: root, times: Number.POSITIVE_INFINITY });
  await killConductor();
  await says('the BMC to show its BIOS settings again');
  machine.bmc.clearFaults();
  await says('to go back to its default settings');
  await expect(hasty.call('PUT', `/v1/nodes/${name}/states/power`, { target: 'power off' })).rejects.toThrow(/409/);
  resolve();
  await rests('manageable');
  expect(machine.bmc.counters.resetsAmidWork).toBe(0);
});
