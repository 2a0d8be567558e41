import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { waitUntil } from '#test/support/step-node.ts';
import { bmc, nic, useUpdateStage } from '#test/support/update-stage.ts';

/**
 * Firmware updates whose request is answered with a failure, or not at all: while one may be under way its own time rules,
 * and its task or its version shows that it is; before it was asked for, the retry timeout rules.
 */

const stage = useUpdateStage('lost-update', 'bd', { BATON_RETRY_TIMEOUT: '2' });
const { clean, look, says, rests, version, posts, stepRow, pass } = stage;

const asked = () => posts('SimpleUpdate');
const powerActions = () => posts('ComputerSystem.Reset');
/** Makes the retry timeout, where the step has one, be over. */
const endRetries = () =>
  stage.conductor.context().db.execute(
    sql`update flow_steps set retry_until = '1970-01-01' where retry_until is not null and flow_uuid in
        (select flows.uuid from flows join nodes on nodes.uuid = node_uuid where nodes.name = ${stage.name})`,
  );

const lost = [
  ['answered with 500', { actsAs: 500 }],
  ['answered with 502', { actsAs: 502 }],
  ['not answered', { dropAnswer: true }],
] as const;
const simpleUpdate = { method: 'POST', path: /SimpleUpdate$/ };

describe.each(lost)('an update that was begun, and %s', (_how, fault) => {
  test('is followed by its task, for as long as it takes', async () => {
    stage.machine.bmc.inject({ ...simpleUpdate, ...fault });
    await clean(bmc);
    await says('waiting_for":"the BMC to update bmc"');
    await endRetries();
    const before = stage.machine.bmc.requests.length;
    await waitUntil('more looks', async () => {
      await look();
      return (
        stage.machine.bmc.requests.slice(before).filter(({ path }) => /Tasks\/./.test(path)).length > 2 || undefined
      );
    });
    stage.letItEnd();
    await rests('manageable');
    expect([await version('bmc'), asked()]).toEqual(['3.0.0', 1]);
    expect(stage.machine.bmc.counters.resetsAmidWork).toBe(0);
  });

  test('by a BMC that lists no tasks: it is asked for until its own time is over, or the version shows it', async () => {
    stage.machine.bmc.quirks.taskList = 'empty';
    stage.machine.bmc.inject({ ...simpleUpdate, ...fault });
    await clean(bmc);
    // one is written at a time
    await says('the BMC to accept the update of bmc');
    for (let tries = asked(); tries <= 6; tries += 1) {
      await pass(60_000);
      await waitUntil('another try', () => look().then(() => asked() > tries || undefined));
    }
    await endRetries();
    expect(await stepRow()).toMatchObject({ retry_until: null });
    stage.letItEnd();
    await rests('manageable');
    expect(await version('bmc')).toBe('3.0.0');
    expect(stage.machine.bmc.counters.resetsAmidWork).toBe(0);
  });
});

test('a task that does not say what it was asked for by may be the update: nothing is asked for while it runs', async () => {
  stage.machine.bmc.quirks.taskList = 'without requests';
  stage.machine.bmc.inject({ ...simpleUpdate, dropAnswer: true });
  await clean(bmc);
  await says('the BMC to show whether it has begun the update of bmc');
  await endRetries();
  await says('the BMC to show whether it has begun the update of bmc');
  expect(asked()).toBe(1);
  stage.letItEnd();
  await rests('manageable');
  expect([await version('bmc'), asked()]).toEqual(['3.0.0', 1]);
});

test('one that is accepted without a word of its task is followed by the list of tasks', async () => {
  stage.machine.bmc.inject({ ...simpleUpdate, actsAs: 202 });
  await clean(bmc);
  await says('waiting_for":"the BMC to update bmc"');
  stage.letItEnd();
  await rests('manageable');
  expect([await version('bmc'), asked()]).toEqual(['3.0.0', 1]);
});

test('one whose task says that it runs, and then that it has ended, is done', async () => {
  stage.machine.bmc.quirks.flashesUntil = undefined;
  stage.machine.bmc.quirks.taskPolls = 3;
  stage.machine.bmc.inject({ ...simpleUpdate, dropAnswer: true });
  await clean(bmc);
  await rests('manageable');
  expect([await version('bmc'), asked()]).toEqual(['3.0.0', 1]);
});

test('one that had not begun, which its list of tasks shows, is asked for again', async () => {
  stage.letItEnd();
  stage.machine.bmc.inject({ ...simpleUpdate, drop: true });
  await clean(bmc);
  await rests('manageable');
  expect([await version('bmc'), asked()]).toEqual(['3.0.0', 2]);
});

test('the second of two, whose answer is lost, is asked for until the BMC takes it, in a time of its own', async () => {
  stage.machine.bmc.quirks.taskList = 'empty';
  await clean(bmc, nic);
  await says('waiting_for":"the BMC to update bmc"');
  await stage.conductor.context().db.execute(
    sql`update flow_steps set wait_until = wait_until - interval '51 min' where wait_until is not null and flow_uuid in
        (select flows.uuid from flows join nodes on nodes.uuid = node_uuid where nodes.name = ${stage.name})`,
  );
  const first = Date.parse((await stepRow())?.wait_until ?? '');
  stage.machine.bmc.inject({ ...simpleUpdate, drop: true });
  stage.machine.bmc.inject({ ...simpleUpdate, status: 400, times: Number.POSITIVE_INFINITY });
  stage.letItEnd();
  await says('the BMC to accept the update of NIC.Slot.1');
  expect(Date.parse((await stepRow())?.wait_until ?? '') - first).toBeGreaterThan(30 * 60_000);
  stage.machine.bmc.clearFaults();
  await rests('manageable');
  expect([await version('bmc'), await version('NIC.Slot.1')]).toEqual(['3.0.0', '4.0.0']);
  expect(stage.machine.bmc.counters.resetsAmidWork).toBe(0);
});

describe.each([
  ['that it can not be read what there is', { method: 'GET', path: /FirmwareInventory$/, status: 503 }],
  ['that reading fails', { method: 'GET', path: /FirmwareInventory$/, status: 500 }],
  ['that the service is busy', { ...simpleUpdate, status: 503 }],
])('a BMC that answers before anything was begun %s', (_how, fault) => {
  test('is asked for the retry timeout, and no power is held for it', async () => {
    const before = powerActions();
    stage.machine.bmc.inject({ ...fault, times: Number.POSITIVE_INFINITY });
    await clean(bmc);
    await rests('clean failed');
    expect(await stage.operator.node(stage.name)).toMatchObject({
      last_error: expect.stringContaining(String(fault.status)) as string,
      driver_internal_info: expect.not.objectContaining({ baton_power_hold: expect.anything() as unknown }) as object,
    });
    expect(powerActions()).toBeGreaterThan(before);
  });
});
