import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { waitUntil } from '#test/support/step-node.ts';

/**
 * Firmware updates whose request is answered with a failure, or not at all: while one may be under way its own time rules,
 * and its task or its version shows that it is; before it was asked for, the retry timeout rules.
 */

let conductor: ConductorInProcess;
let operator: Operator;
let hasty: Operator;
let machine: SimulatedNode;
let name: string;
let count = 0;
let letItEnd: () => void;

beforeAll(async () => {
  conductor = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_RETRY_TIMEOUT: '2' },
    drivers: { redfish: { retryMs: 2 } },
  });
  operator = createOperator(conductor.url, { retries: 30 });
  hasty = createOperator(conductor.url);
});
afterAll(() => conductor.close());
beforeEach(async () => {
  count += 1;
  const mac = `52:54:00:00:bd:${count.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  name = await enrolSimulatedNode(operator, machine, `lost-update-${count}`);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await operator.call('PUT', `/v1/nodes/${name}/states/power`, { target: 'power on' });
  await waitUntil(
    `${name} to be on`,
    async () => (await operator.node(name))['power_state'] === 'power on' || undefined,
  );
  const { promise, resolve } = Promise.withResolvers<void>();
  letItEnd = resolve;
  machine.bmc.quirks.flashesUntil = promise;
  return async () => {
    resolve();
    await machine.close();
  };
});

const image = (file: string): string => `http://192.0.2.7/${file}.bin`;
const bmc = { component: 'bmc', url: image('bmc-3.0.0') };
const nic = { component: 'NIC.Slot.1', url: image('nic-4.0.0') };
const clean = (...settings: readonly object[]) =>
  operator.provision(name, 'clean', {
    clean_steps: [{ interface: 'firmware', step: 'update', args: { settings } }],
    disable_ramdisk: true,
  });

const look = () => hasty.call('POST', `/v1/nodes/${name}/flow/retry`).catch(() => undefined);
const says = (words: string) =>
  waitUntil(words, async () => {
    await look();
    return JSON.stringify(await operator.call('GET', `/v1/nodes/${name}/flow`)).includes(words) || undefined;
  });
const rests = (state: string) =>
  waitUntil(state, async () => {
    await look();
    const { provision_state: now, reservation } = await operator.node(name);
    return (now === state && reservation === null) || undefined;
  });
const version = async (component: string): Promise<unknown> => {
  const { firmware } = (await operator.call('GET', `/v1/nodes/${name}/firmware`)) as {
    firmware: readonly { readonly component: string; readonly current_version: string }[];
  };
  return firmware.find((each) => each.component === component)?.current_version;
};
const asked = () =>
  machine.bmc.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('SimpleUpdate')).length;
const powerActions = () =>
  machine.bmc.requests.filter(({ method, path }) => method === 'POST' && path.endsWith('ComputerSystem.Reset')).length;
const stepRow = async () => {
  const { rows } = (await conductor.context().db.execute(
    sql`select wait_until::text, retry_until::text from flow_steps join flows on flows.uuid = flow_uuid
        join nodes on nodes.uuid = node_uuid where nodes.name = ${name} and step = 'update'`,
  )) as { rows: readonly { readonly wait_until: string | null; readonly retry_until: string | null }[] };
  return rows[0];
};
/** Moves the clock on for the update that is asked for: what was noted of it is so much older. */
const pass = async (ms: number): Promise<void> => {
  const { db } = conductor.context();
  const older = (key: string) => sql`to_jsonb((output->'asked'->>${key}::text)::float8 - ${ms}::float8)`;
  const byMs = sql`make_interval(secs => ${ms}::float8 / 1000)`;
  await db.execute(
    sql`update flow_steps set wait_until = wait_until - ${byMs},
          output = jsonb_set(jsonb_set(output, '{asked,since}', ${older('since')}), '{asked,lastAt}', ${older('lastAt')})
        where jsonb_typeof(output->'asked') = 'object' and flow_uuid in
          (select flows.uuid from flows join nodes on nodes.uuid = node_uuid where nodes.name = ${name})`,
  );
};
/** Makes the retry timeout, where the step has one, be over. */
const endRetries = () =>
  conductor.context().db.execute(
    sql`update flow_steps set retry_until = '1970-01-01' where retry_until is not null and flow_uuid in
        (select flows.uuid from flows join nodes on nodes.uuid = node_uuid where nodes.name = ${name})`,
  );

const lost = [
  ['answered with 500', { actsAs: 500 }],
  ['answered with 502', { actsAs: 502 }],
  ['not answered', { dropAnswer: true }],
] as const;
const simpleUpdate = { method: 'POST', path: /SimpleUpdate$/ };

describe.each(lost)('an update that was begun, and %s', (_how, fault) => {
  test('is followed by its task, for as long as it takes', async () => {
    machine.bmc.inject({ ...simpleUpdate, ...fault });
    await clean(bmc);
    await says('waiting_for":"the BMC to update bmc"');
    await endRetries();
    const before = machine.bmc.requests.length;
    await waitUntil('more looks', async () => {
      await look();
      return machine.bmc.requests.slice(before).filter(({ path }) => /Tasks\/./.test(path)).length > 2 || undefined;
    });
    letItEnd();
    await rests('manageable');
    expect([await version('bmc'), asked()]).toEqual(['3.0.0', 1]);
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
  });

  test('by a BMC that lists no tasks: it is asked for until its own time is over, or the version shows it', async () => {
    machine.bmc.quirks.taskList = 'empty';
    machine.bmc.inject({ ...simpleUpdate, ...fault });
    await clean(bmc);
    // one is written at a time
    await says('the BMC to accept the update of bmc');
    for (let tries = asked(); tries <= 6; tries += 1) {
      await pass(60_000);
      await waitUntil('another try', () => look().then(() => asked() > tries || undefined));
    }
    await endRetries();
    expect(await stepRow()).toMatchObject({ retry_until: null });
    letItEnd();
    await rests('manageable');
    expect(await version('bmc')).toBe('3.0.0');
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
  });
});

test('a task that does not say what it was asked for by may be the update: nothing is asked for while it runs', async () => {
  machine.bmc.quirks.taskList = 'without requests';
  machine.bmc.inject({ ...simpleUpdate, dropAnswer: true });
  await clean(bmc);
  await says('the BMC to show whether it has begun the update of bmc');
  await endRetries();
  await says('the BMC to show whether it has begun the update of bmc');
  expect(asked()).toBe(1);
  letItEnd();
  await rests('manageable');
  expect([await version('bmc'), asked()]).toEqual(['3.0.0', 1]);
});

test('one that is accepted without a word of its task is followed by the list of tasks', async () => {
  machine.bmc.inject({ ...simpleUpdate, actsAs: 202 });
  await clean(bmc);
  await says('waiting_for":"the BMC to update bmc"');
  letItEnd();
  await rests('manageable');
  expect([await version('bmc'), asked()]).toEqual(['3.0.0', 1]);
});

test('one whose task says that it runs, and then that it has ended, is done', async () => {
  machine.bmc.quirks.flashesUntil = undefined;
  machine.bmc.quirks.taskPolls = 3;
  machine.bmc.inject({ ...simpleUpdate, dropAnswer: true });
  await clean(bmc);
  await rests('manageable');
  expect([await version('bmc'), asked()]).toEqual(['3.0.0', 1]);
});

test('one that had not begun, which its list of tasks shows, is asked for again', async () => {
  letItEnd();
  machine.bmc.inject({ ...simpleUpdate, drop: true });
  await clean(bmc);
  await rests('manageable');
  expect([await version('bmc'), asked()]).toEqual(['3.0.0', 2]);
});

test('the second of two, whose answer is lost, is asked for until the BMC takes it, in a time of its own', async () => {
  machine.bmc.quirks.taskList = 'empty';
  await clean(bmc, nic);
  await says('waiting_for":"the BMC to update bmc"');
  await conductor.context().db.execute(
    sql`update flow_steps set wait_until = wait_until - interval '51 min' where wait_until is not null and flow_uuid in
        (select flows.uuid from flows join nodes on nodes.uuid = node_uuid where nodes.name = ${name})`,
  );
  const first = Date.parse((await stepRow())?.wait_until ?? '');
  machine.bmc.inject({ ...simpleUpdate, drop: true });
  machine.bmc.inject({ ...simpleUpdate, status: 400, times: Number.POSITIVE_INFINITY });
  letItEnd();
  await says('the BMC to accept the update of NIC.Slot.1');
  expect(Date.parse((await stepRow())?.wait_until ?? '') - first).toBeGreaterThan(30 * 60_000);
  machine.bmc.clearFaults();
  await rests('manageable');
  expect([await version('bmc'), await version('NIC.Slot.1')]).toEqual(['3.0.0', '4.0.0']);
  expect(machine.bmc.counters.resetsAmidWork).toBe(0);
});

describe.each([
  ['that it can not be read what there is', { method: 'GET', path: /FirmwareInventory$/, status: 503 }],
  ['that reading fails', { method: 'GET', path: /FirmwareInventory$/, status: 500 }],
  ['that the service is busy', { ...simpleUpdate, status: 503 }],
])('a BMC that answers before anything was begun %s', (_how, fault) => {
  test('is asked for the retry timeout, and no power is held for it', async () => {
    const before = powerActions();
    machine.bmc.inject({ ...fault, times: Number.POSITIVE_INFINITY });
    await clean(bmc);
    await rests('clean failed');
    expect(await operator.node(name)).toMatchObject({
      last_error: expect.stringContaining(String(fault.status)) as string,
      driver_internal_info: expect.not.objectContaining({ baton_power_hold: expect.anything() as unknown }) as object,
    });
    expect(powerActions()).toBeGreaterThan(before);
  });
});
