import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { syncPower } from '#conductor/background/sync-power.ts';
import type { FakeMachine } from '#conductor/drivers/fake/fake.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let node: string;
let bmcIsAway = false;
let onTheFloor: (machine: FakeMachine) => void = () => undefined;

beforeAll(async () => {
  const beforeAction = (_: string, __: string, machine: FakeMachine): void => {
    if (bmcIsAway) throw new AppError('unavailable', 'no route to BMC');
    onTheFloor(machine);
  };
  api = await openTestApi({ drivers: { fake: { beforeAction } } });
});
afterAll(() => api.close());

beforeEach(async () => {
  await api.reset();
  bmcIsAway = false;
  onTheFloor = () => undefined;
  const answer = await api.call(
    'POST',
    '/v1/nodes',
    { driver: 'fake-hardware', driver_info: { fake_id: 'one' } },
    '1.10',
  );
  node = answer.uuid;
  await updateNode(api.context.db, node, { powerState: 'power off' });
});

const look = () => syncPower(api.context, new AbortController().signal);
const read = async () => (await api.call('GET', `/v1/nodes/${node}`)).body;

test('a hand on the power button is recorded, and stands in the history', async () => {
  onTheFloor = (machine) => {
    machine.powerState = 'power on';
  };
  await look();
  expect(await read()).toMatchObject({ power_state: 'power on', maintenance: false });
  const history = await api.call('GET', `/v1/nodes/${node}/history`);
  expect(JSON.stringify(history.body)).toContain("found 'power on' where 'power off' was on record");
});

test('a BMC that fails three times takes its node out of service, and its first answer brings it back', async () => {
  bmcIsAway = true;
  await look();
  await look();
  expect(await read()).toMatchObject({ power_state: 'power off', maintenance: false });
  await look();
  expect(await read()).toMatchObject({ power_state: null, maintenance: true, fault: 'power failure' });
  expect((await read())['maintenance_reason']).toContain('no route to BMC');

  bmcIsAway = false;
  await look();
  expect(await read()).toMatchObject({ maintenance: false, fault: null, maintenance_reason: null });
});

test('maintenance that a person has set stays', async () => {
  await api.call('PUT', `/v1/nodes/${node}/maintenance`, { reason: 'new fan' });
  await look();
  expect(await read()).toMatchObject({ maintenance: true, maintenance_reason: 'new fan' });
});
