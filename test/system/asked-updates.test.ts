import { describe, expect, test } from 'vitest';
import { waitUntil } from '#test/support/step-node.ts';
import { bmc, useUpdateStage } from '#test/support/update-stage.ts';

/**
 * Firmware updates that are asked for again and again, by a clock that is moved on by hand: an hour and the power are those
 * of the request that the BMC takes; what it never takes ends with its own words.
 */

const stage = useUpdateStage('asked-update', 'b9', { BATON_RETRY_TIMEOUT: '2' });
const { clean, look, says, rests, version, posts, stepRow, pass } = stage;

const asked = () => posts('SimpleUpdate');
/** Waits until the BMC has been looked at after so long, or the node rests. */
const lookIn = async (ms: number): Promise<'rests' | 'looked'> => {
  await pass(ms);
  const before = stage.machine.bmc.requests.length;
  return waitUntil('a look', async () => {
    await look();
    if ((await stage.operator.node(stage.name))['reservation'] === null && (await isOver())) return 'rests';
    return stage.machine.bmc.requests.length > before ? 'looked' : undefined;
  });
};
const isOver = async () => (await stage.operator.call('GET', `/v1/nodes/${stage.name}/flow`))['ended_at'] !== null;
const holdEnd = async (): Promise<number> => {
  const { driver_internal_info: info } = (await stage.operator.node(stage.name)) as {
    readonly driver_internal_info: { readonly baton_power_hold?: { readonly until: string } };
  };
  return Date.parse(info.baton_power_hold?.until ?? '');
};
const simpleUpdate = { method: 'POST', path: /SimpleUpdate$/ };

const minute = 60_000;
const times = Number.POSITIVE_INFINITY;
const refuse = () => stage.machine.bmc.inject({ ...simpleUpdate, status: 500, body: badImage, times });
const badImage = { error: { code: 'Base.1.8.GeneralError', message: 'The image is for another board.' } };
describe.each([
  ['answered with 500', { status: 500 }],
  ['not answered', { drop: true }],
])('an update whose first requests are %s', (_how, fault) => {
  test('has an hour, and its power, from the request that was accepted', async () => {
    stage.machine.bmc.quirks.taskList = 'empty';
    stage.machine.bmc.inject({ ...simpleUpdate, ...fault, times });
    await clean(bmc);
    await says('the BMC to accept the update of bmc');
    await pass(50 * minute);
    stage.machine.bmc.clearFaults();
    const accepted = Date.now();
    await says('waiting_for":"the BMC to update bmc"');
    expect(Date.parse((await stepRow())?.wait_until ?? '')).toBeGreaterThanOrEqual(accepted + 60 * minute);
    expect(await holdEnd()).toBeGreaterThanOrEqual(accepted + 60 * minute);
    stage.letItEnd();
    await rests('manageable');
    expect(await version('bmc')).toBe('3.0.0');
    expect(stage.machine.bmc.counters.resetsAmidWork).toBe(0);
  });
});

test('power that a person has released is held again for the next request', async () => {
  refuse();
  await clean(bmc);
  await says('the BMC to accept the update of bmc');
  await waitUntil('the release', async () =>
    stage.hasty.call('POST', `/v1/nodes/${stage.name}/flow/release_power`).then(
      () => true,
      () => undefined,
    ),
  );
  stage.machine.bmc.clearFaults();
  await says('waiting_for":"the BMC to update bmc"');
  expect(await holdEnd()).toBeGreaterThan(Date.now() + 50 * minute);
  stage.letItEnd();
  await rests('manageable');
  expect(stage.machine.bmc.counters.resetsAmidWork).toBe(0);
});

describe('a BMC that answers 500 for an image that it does not take', () => {
  test('and lists other tasks only, is asked for minutes, ever more rarely; then its words are the failure', async () => {
    const Members = [{ '@odata.id': '/redfish/v1/TaskService/Tasks/of-last-week' }];
    const body = { Name: 'Tasks', Members, 'Members@odata.count': 1 };
    stage.machine.bmc.inject({ method: 'GET', path: /TaskService\/Tasks$/, body, times });
    refuse();
    await clean(bmc);
    await says('the BMC to accept the update of bmc');
    while ((await lookIn(minute / 4)) !== 'rests');
    await rests('clean failed');
    expect(await stage.operator.node(stage.name)).toMatchObject({
      last_error: expect.stringMatching(/has not begun.*The image is for another board/) as string,
      driver_internal_info: expect.not.objectContaining({ baton_power_hold: expect.anything() as unknown }) as object,
    });
    expect(asked()).toBeGreaterThan(2);
    expect(asked()).toBeLessThan(13);
  });

  test('and lists no tasks at all, is asked ever more rarely, and its power is held', async () => {
    stage.machine.bmc.quirks.taskList = 'empty';
    refuse();
    await clean(bmc);
    await says('the BMC to accept the update of bmc');
    for (let looks = 0; looks < 60; looks += 1) await lookIn(minute / 4);
    expect(asked()).toBeGreaterThan(2);
    expect(asked()).toBeLessThan(16);
    expect(await holdEnd()).toBeGreaterThan(Date.now() + 50 * minute);
  });

  test('and whose list can not be read now, may be at it', async () => {
    refuse();
    await clean(bmc);
    await says('the BMC to accept the update of bmc');
    stage.machine.bmc.inject({ method: 'GET', path: /TaskService\/Tasks$/, status: 500, times });
    for (let looks = 0; looks < 15; looks += 1) await lookIn(minute);
    await says('the BMC to accept the update of bmc');
    expect(await holdEnd()).toBeGreaterThan(Date.now() + 50 * minute);
  });
});
