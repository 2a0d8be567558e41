import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { FakeMachine } from '#conductor/drivers/fake/fake.ts';
import type { RestingPart } from '#conductor/flows/background/resting-nodes.ts';
import { createPowerRounds, syncPower } from '#conductor/flows/background/sync-power.ts';
import { insertFlow } from '#conductor/flows/log/flow-store.ts';
import { claimLease } from '#conductor/nodes/node-lease.ts';
import { findNode, getNode, updateNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let node: string;
let bmcIsAway = false;
let meanwhile: () => Promise<void> = () => Promise.resolve();
let asked: (fakeId: string) => Promise<void> = () => Promise.resolve();
let onTheFloor: (machine: FakeMachine) => void = () => undefined;

beforeAll(async () => {
  const beforeAction = async (_: string, id: string, machine: FakeMachine): Promise<void> => {
    await asked(id);
    await meanwhile();
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
  meanwhile = () => Promise.resolve();
  asked = () => Promise.resolve();
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

test("the machine's health is read along, changes stand in the history, and a silent BMC's is not known", async () => {
  const seen = async (health: FakeMachine['health']) => {
    onTheFloor = (machine) => {
      machine.health = health;
    };
    await look();
    return (await api.call('GET', `/v1/nodes/${node}`, undefined, '1.109')).body['health'];
  };
  const history = async () => {
    const { body } = await api.call('GET', `/v1/nodes/${node}/history?detail=true`);
    const entries = body['history'] as { event: string; event_type: string; severity: string }[];
    return entries
      .filter((entry) => entry.event_type === 'monitoring')
      .map(({ severity, event }) => `${severity}: ${event}`);
  };
  expect([await seen(null), await history()]).toEqual([null, []]);
  expect([await seen('ok'), await seen('ok'), await seen('critical'), await seen(null)]).toEqual([
    'OK',
    'OK',
    'Critical',
    null,
  ]);
  expect(await history()).toEqual([
    'ERROR: health is Critical where OK was on record',
    'INFO: health is not reported any more where Critical was on record',
  ]);
  expect(await seen('warning')).toBe('Warning');
  expect(await read()).not.toHaveProperty('health');
  bmcIsAway = true;
  await look();
  expect(await seen('ok')).toBe('Warning');
  await look();
  expect(await seen('ok')).toBeNull();
});

test('health is recorded also where the BMC does not know whether the machine is on', async () => {
  onTheFloor = (machine) => {
    Object.assign(machine, { powerState: undefined, health: 'critical' });
  };
  await look();
  const { body } = await api.call('GET', `/v1/nodes/${node}`, undefined, '1.109');
  expect(body).toMatchObject({ health: 'Critical', power_state: 'power off' });
});

test.each([
  ['did not answer last time', 20, 1],
  // more than are asked at once
  ['has answered so far', 80, 0],
])('a rack that %s and hangs holds up no node that answers', async (_, many, powerFailures) => {
  const describeNode = (id: string) => ({ driver: 'fake-hardware', driver_info: { fake_id: id } });
  for (let number = 0; number < many; number += 1) {
    const { uuid } = await api.call('POST', '/v1/nodes', describeNode(`dark-${number}`), '1.10');
    await updateNode(api.context.db, uuid, { powerState: 'power off', powerFailures });
  }
  await updateNode(api.context.db, node, { powerState: 'power off' }); // PostgreSQL reads it last now
  const answered = Promise.withResolvers<void>();
  asked = (id) => {
    if (id === 'one') answered.resolve();
    return answered.promise;
  };
  onTheFloor = (machine) => {
    machine.powerState = 'power on';
  };
  await look();
  expect(await read()).toMatchObject({ power_state: 'power on' });
});

test('BMCs that did not answer last time have a round of their own, and answer in it', async () => {
  const look = (part: RestingPart) => syncPower(api.context, new AbortController().signal, { only: part });
  const described = { driver: 'fake-hardware', driver_info: { fake_id: 'dark' } };
  const { uuid: dark } = await api.call('POST', '/v1/nodes', described, '1.10');
  await updateNode(api.context.db, dark, { powerState: 'power off', powerFailures: 1 });
  onTheFloor = (machine) => {
    machine.powerState = 'power on';
  };
  const seen: string[] = [];
  asked = (id) => {
    seen.push(id);
    return Promise.resolve();
  };
  await look('answering');
  expect(new Set(seen)).toEqual(new Set(['one']));
  seen.length = 0;
  await look('silent');
  expect(new Set(seen)).toEqual(new Set(['dark']));
  expect(await getNode(api.context.db, dark)).toMatchObject({ powerState: 'power on', powerFailures: 0 });
  seen.length = 0;
  await look('silent');
  expect(seen).toEqual([]);
});

test('the boot mode is read again after a boot that nobody here has made', async () => {
  onTheFloor = (machine) => {
    machine.powerState = 'power off';
    machine.bootMode = 'bios';
    machine.secureBoot = false;
  };
  await look();
  expect(await read()).toMatchObject({ boot_mode: null, secure_boot: null });
  await updateNode(api.context.db, node, { powerState: 'power on' });
  await look();
  expect(await read()).toMatchObject({ power_state: 'power off', boot_mode: 'bios', secure_boot: false });
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

test('a BMC that fails among those that answer is asked again a period later, and not by the round beside', async () => {
  const clock = { ms: 0 };
  const rounds = createPowerRounds(api.context, () => clock.ms);
  const { signal } = new AbortController();
  const failures = async () => (await getNode(api.context.db, node)).powerFailures;
  bmcIsAway = true;
  await rounds.answering(signal);
  await rounds.silent(signal);
  expect(await failures()).toBe(1);
  clock.ms += api.context.config.powerSyncIntervalMs - 1;
  await rounds.silent(signal);
  expect(await failures()).toBe(1);
  clock.ms += 1;
  await rounds.silent(signal);
  expect(await failures()).toBe(2);
  // from here on the round's own period is between two
  await rounds.silent(signal);
  expect(await read()).toMatchObject({ maintenance: true, fault: 'power failure' });
});

test('maintenance that a person has set stays', async () => {
  await api.call('PUT', `/v1/nodes/${node}/maintenance`, { reason: 'new fan' });
  await look();
  expect(await read()).toMatchObject({ maintenance: true, maintenance_reason: 'new fan' });
});

describe('while the BMC takes its time', () => {
  beforeEach(() => {
    onTheFloor = (machine) => {
      machine.powerState = 'power on';
    };
  });

  test('operators change the node', async () => {
    bmcIsAway = true;
    let status = 0;
    meanwhile = async () => {
      ({ status } = await api.call('PATCH', `/v1/nodes/${node}`, [{ op: 'add', path: '/extra/a', value: 1 }]));
    };
    await look();
    expect(status).toBe(200);
    expect((await getNode(api.context.db, node)).powerFailures).toBe(0);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['claimed', () => claimLease(api.context.db, node, { holder: 'other', leaseMs: 60_000 })],
    ['asked for a power action', () => updateNode(api.context.db, node, { targetPowerState: 'power on' })],
    ['switched', () => updateNode(api.context.db, node, { powerState: null })],
    [
      'put to work',
      () => api.context.db.transaction((tx) => insertFlow(tx, { nodeUuid: node, kind: 'clean', steps: [] })),
    ],
    ['deleted', () => api.reset()],
  ])('nothing is recorded of a node that was %s meanwhile', async (_, act) => {
    meanwhile = async () => {
      await act();
    };
    await look();
    const row = await findNode(api.context.db, node);
    expect(row?.powerState).not.toBe('power on');
  });
});
