import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import type { Fault } from '#test/simulators/redfish/faults.ts';
import { waitUntil } from '#test/support/step-node.ts';
import { bios, bmc, image, nic, update, useUpdateStage } from '#test/support/update-stage.ts';

/**
 * BMCs that restart amid a firmware update, and their tasks, as bug reports tell of them: the update ends by its task's own
 * word or by the version, and until then nothing switches power.
 */

const stage = useUpdateStage('restarting', 'be');
const { clean, says, rests, version, posts } = stage;

const resets = () => posts('ComputerSystem.Reset');
/** Makes the BMC have answered for minutes that the task is gone, where that was its last answer. */
const letMinutesPass = () =>
  stage.conductor.context().db.execute(
    sql`update flow_steps set output = jsonb_set(output, '{updates}', coalesce((
          select jsonb_agg(case when each->'lostSince' = 'null' then each else each || '{"lostSince": 0}' end)
          from jsonb_array_elements(output->'updates') each), '[]'))
        where state <> 'succeeded' and jsonb_typeof(output->'updates') = 'array'`,
  );

const page = '<html><body>Please wait</body></html>';
const answers: readonly (readonly [string, Omit<Fault, 'path'>])[] = [
  ['401', { status: 401 }],
  ['404', { status: 404, body: { error: { code: 'Base.1.8.ResourceMissingAtURI' } } }],
  ['404 and a page', { status: 404, body: page }],
  ['500 and a page', { status: 500, body: page }],
  ['cut connections', { drop: true }],
];

describe.each(answers)('a BMC that answers all with %s while it starts', (_how, fault) => {
  test('has not ended the update, whose task goes on', async () => {
    await clean(bios);
    await says('the BMC to update bios');
    const before = resets();
    stage.machine.bmc.inject({ path: /./, ...fault, times: Number.POSITIVE_INFINITY });
    await says('which does not answer now');
    stage.machine.bmc.clearFaults();
    await says('waiting_for":"the BMC to update bios"');
    expect(resets()).toBe(before);
    stage.letItEnd();
    await rests('manageable');
    expect(await version('bios')).toBe('2.1.0');
    expect(stage.machine.bmc.counters.resetsAmidWork).toBe(0);
  });

  test('and has forgotten its task and shows the version of before for a while, is asked until it shows the new one', async () => {
    await clean(bmc);
    await says('the BMC to update bmc');
    const before = resets();
    stage.machine.bmc.restart();
    stage.machine.bmc.inject({ path: /./, ...fault, times: Number.POSITIVE_INFINITY });
    await says('which does not answer now');
    stage.machine.bmc.clearFaults();
    await says('has forgotten the update of bmc, to show its version"');
    stage.letItEnd();
    await rests('manageable');
    expect(await version('bmc')).toBe('3.0.0');
    expect(resets()).toBe(before);
  });
});

const forgotten = (component: string) => says(`has forgotten the update of ${component}, to show its version"`);
/** Waits for the failure, with power held until a person says that nothing is under way. */
const heldFailure = async (words: string): Promise<unknown> => {
  await says(words);
  const off = stage.hasty.call('PUT', `/v1/nodes/${stage.name}/states/power`, { target: 'power off' });
  await expect(off).rejects.toThrow('firmware.update may be under way');
  await stage.operator.call('POST', `/v1/nodes/${stage.name}/flow/release_power`);
  return failure();
};
const failure = async (): Promise<unknown> => {
  await rests('clean failed');
  return (await stage.operator.node(stage.name))['last_error'];
};

describe('a version of before, once the BMC has answered for minutes', () => {
  test('is no success where the task was forgotten: Dell may drop one whose update has failed', async () => {
    await clean({ ...bmc, url: image('bmc-1.0.0') }, bios);
    await says('the BMC to update bmc');
    const before = resets();
    stage.machine.bmc.restart();
    stage.letItEnd();
    await forgotten('bmc');
    await letMinutesPass();
    const words = 'update bmc: the BMC shows still version 1.0.0, and no task that tells how the update ended';
    await says(words);
    // nor has the next update begun
    expect([resets(), posts('SimpleUpdate')]).toEqual([before, 1]);
    expect(await heldFailure(words)).toContain(words);
  });

  test('is one where it is the version that was stated', async () => {
    await clean({ ...bmc, url: image('bmc-1.0.0'), version: ' 1.0.0' });
    await says('the BMC to update bmc');
    const before = resets();
    stage.machine.bmc.restart();
    stage.letItEnd();
    await forgotten('bmc');
    await letMinutesPass();
    await rests('manageable');
    expect(await version('bmc')).toBe('1.0.0');
    expect(resets()).toBe(before);
  });

  test('is one where the task said its end', async () => {
    await clean({ ...bmc, url: image('bmc-1.0.0') });
    await says('the BMC to update bmc');
    stage.letItEnd();
    await rests('manageable');
    expect(await version('bmc')).toBe('1.0.0');
  });

  test('is no success after the reset, either, which many machines write it at', async () => {
    await clean({ ...bios, url: image('bios-1.0.0') });
    await says('the BMC to update bios');
    const before = resets();
    stage.machine.bmc.restart();
    stage.letItEnd();
    await forgotten('bios');
    await letMinutesPass();
    await says('the machine to start with the new bios"');
    expect(resets()).toBeGreaterThan(before);
    await letMinutesPass();
    const words = 'update bios: the BMC shows still version 1.0.0';
    expect(await heldFailure(words)).toContain(words);
  });
});

test('a version that was stated is awaited, and another one is a failure, whatever the task says', async () => {
  await clean({ ...bmc, version: '3.0.1' });
  await says('the BMC to update bmc');
  stage.letItEnd();
  await says('the BMC to show the new version of bmc"');
  await letMinutesPass();
  expect(await failure()).toContain('asked for version 3.0.1, the BMC shows 3.0.0, though its task ended well');
});

test('a version that is not shown for a while is not known to be another', async () => {
  const path = /FirmwareInventory\/NIC.Slot.1$/;
  const item = { '@odata.id': '/redfish/v1/UpdateService/FirmwareInventory/NIC.Slot.1', Id: 'NIC.Slot.1' };
  await clean(nic);
  await says('the BMC to update NIC.Slot.1');
  stage.machine.bmc.restart();
  stage.machine.bmc.inject({ path, body: { ...item, Version: null }, times: Number.POSITIVE_INFINITY });
  await says('has forgotten the update of NIC.Slot.1, to show its version"');
  const before = resets();
  const seen = () => stage.machine.bmc.requests.filter((each) => path.test(each.path)).length;
  const looks = seen();
  await waitUntil('more looks', async () => (await says('to show its version"')) && (seen() > looks + 2 || undefined));
  expect(resets()).toBe(before);
});

test('minutes count only while the BMC answers that the task is gone', async () => {
  await clean(bmc);
  await says('the BMC to update bmc');
  const isForgotten = () => forgotten('bmc');
  const times = Number.POSITIVE_INFINITY;
  stage.machine.bmc.inject({ path: /TaskMonitors/, status: 404, times });
  await isForgotten();
  stage.machine.bmc.clearFaults();
  await letMinutesPass();
  await says('waiting_for":"the BMC to update bmc"');
  stage.machine.bmc.restart();
  await isForgotten();
  stage.machine.bmc.inject({ path: /./, drop: true, times });
  await letMinutesPass();
  await says('which does not answer now');
  stage.machine.bmc.clearFaults();
  await isForgotten();
  stage.letItEnd();
  await rests('manageable');
  expect(await version('bmc')).toBe('3.0.0');
});

describe("a task's end is its own word", () => {
  const monitor = (body: object, times: number) => stage.machine.bmc.inject({ path: /TaskMonitors/, body, times });

  test('completed with status Critical it has failed, in its words', async () => {
    const Messages = [{ MessageId: 'IDRAC.2.8.JCP052', Message: 'no progress' }];
    monitor({ TaskState: 'Completed', TaskStatus: 'Critical', Messages }, Number.POSITIVE_INFINITY);
    await clean(bios);
    await rests('clean failed');
    const { last_error: error } = await stage.operator.node(stage.name);
    expect(error).toContain("the BMC's task ended as Completed with status Critical: no progress");
    expect(await version('bios')).toBe('1.0.0');
  });

  test('cancelling, or at what nobody has defined, it is at work', async () => {
    monitor({ TaskState: 'Cancelling', PercentComplete: 30 }, 2);
    monitor({ TaskState: 'AlmostDone', PercentComplete: 60 }, 2);
    await clean(bios);
    await says('the BMC to update bios (60 %)');
    stage.letItEnd();
    await rests('manageable');
    expect(await version('bios')).toBe('2.1.0');
    expect(stage.machine.bmc.counters.resetsAmidWork).toBe(0);
  });

  test('named by a Location that is a task, which is always 200', async () => {
    const headers = { Location: '/redfish/v1/TaskService/Tasks/7?of=update' };
    stage.machine.bmc.inject({ method: 'POST', path: /SimpleUpdate$/, actsAs: 202, headers });
    stage.machine.bmc.inject({ path: /Tasks\/7$/, body: { TaskState: 'Running', PercentComplete: 10 }, times: 2 });
    stage.machine.bmc.inject({ path: /Tasks\/7$/, body: { TaskState: 'Running', PercentComplete: 20 }, times: 2 });
    stage.machine.bmc.inject({ path: /Tasks\/7$/, body: { TaskState: 'Completed' }, times: 9 });
    await clean(bios);
    await says('the BMC to update bios (20 %)');
    stage.letItEnd();
    await rests('manageable');
    expect(stage.machine.bmc.counters.resetsAmidWork).toBe(0);
    expect(stage.machine.bmc.requests.filter(({ query }) => query === '?of=update').length).toBeGreaterThan(3);
  });
});

describe('new firmware that the machine writes as it starts, without a ramdisk', () => {
  const starts = 'waiting_for":"the machine to start with the new bios"';

  test('keeps its power until the BMC shows the new version', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    stage.machine.bmc.quirks.firmwareWrittenAfter = promise;
    stage.letItEnd();
    await clean(bios);
    await says(starts);
    const before = resets();
    await stage.operator.provision(stage.name, 'abort');
    const off = stage.hasty.call('PUT', `/v1/nodes/${stage.name}/states/power`, { target: 'power off' });
    await expect(off).rejects.toThrow('firmware.update may be under way');
    await says(starts);
    expect(resets()).toBe(before);
    resolve();
    await rests('clean failed');
    expect(stage.machine.bmc.counters.resetsAmidWork).toBe(0);
  });

  test('and that is of the same version is given minutes, all of it side by side', async () => {
    stage.letItEnd();
    await clean({ ...bios, url: image('bios-1.0.0') }, { ...nic, url: image('nic-1.0.0') });
    await says('waiting_for":"the machine to start with the new bios, NIC.Slot.1"');
    await letMinutesPass();
    await rests('manageable');
    expect([await version('bios'), await version('NIC.Slot.1')]).toEqual(['1.0.0', '1.0.0']);
  });
});

test('a service that is aborted amid the update keeps the machine on until it has ended', async () => {
  await stage.operator.provision(stage.name, 'provide');
  await stage.operator.waitForState(stage.name, 'available');
  await stage.operator.provision(stage.name, 'active');
  await stage.operator.waitForState(stage.name, 'active');
  await stage.operator.provision(stage.name, 'service', { service_steps: [update(bios)], disable_ramdisk: true });
  await says('the BMC to update bios');
  const before = resets();
  await stage.operator.provision(stage.name, 'abort');
  const off = stage.hasty.call('PUT', `/v1/nodes/${stage.name}/states/power`, { target: 'power off' });
  await expect(off).rejects.toThrow('firmware.update may be under way');
  await says('the BMC to update bios');
  expect(resets()).toBe(before);
  stage.letItEnd();
  await rests('service failed');
  expect(stage.machine.bmc.counters.resetsAmidWork).toBe(0);
});

test.each([
  ['inventory', /FirmwareInventory$/],
  ['update service', /UpdateService$/],
])(
  'a BMC that has forgotten the task, and whose %s can not be read, does not answer for versions',
  async (_part, path) => {
    await clean(bmc);
    await says('the BMC to update bmc');
    stage.machine.bmc.restart();
    stage.machine.bmc.inject({ method: 'GET', path, status: 404, times: Number.POSITIVE_INFINITY });
    await says('which does not answer now');
    stage.machine.bmc.clearFaults();
    await forgotten('bmc');
    stage.letItEnd();
    await rests('manageable');
    expect(await version('bmc')).toBe('3.0.0');
  },
);
