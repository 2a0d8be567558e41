import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { waitUntil } from '#test/support/step-node.ts';

/**
 * Firmware updates that are asked for again and again, by a clock that is moved on by hand: an hour and the power are those
 * of the request that the BMC takes; what it never takes ends with its own words.
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
  const mac = `52:54:00:00:b9:${count.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  name = await enrolSimulatedNode(operator, machine, `asked-update-${count}`);
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
/** Waits until the BMC has been looked at after so long, or the node rests. */
const lookIn = async (ms: number): Promise<'rests' | 'looked'> => {
  await pass(ms);
  const before = machine.bmc.requests.length;
  return waitUntil('a look', async () => {
    await look();
    if ((await operator.node(name))['reservation'] === null && (await isOver())) return 'rests';
    return machine.bmc.requests.length > before ? 'looked' : undefined;
  });
};
const isOver = async () => (await operator.call('GET', `/v1/nodes/${name}/flow`))['ended_at'] !== null;
const holdEnd = async (): Promise<number> => {
  const { driver_internal_info: info } = (await operator.node(name)) as {
    readonly driver_internal_info: { readonly baton_power_hold?: { readonly until: string } };
  };
  return Date.parse(info.baton_power_hold?.until ?? '');
};
const simpleUpdate = { method: 'POST', path: /SimpleUpdate$/ };

const minute = 60_000;
const times = Number.POSITIVE_INFINITY;
const refuse = () => machine.bmc.inject({ ...simpleUpdate, status: 500, body: badImage, times });
const badImage = { error: { code: 'Base.1.8.GeneralError', message: 'The image is for another board.' } };
describe.each([
  ['answered with 500', { status: 500 }],
  ['not answered', { drop: true }],
])('an update whose first requests are %s', (_how, fault) => {
  test('has an hour, and its power, from the request that was accepted', async () => {
    machine.bmc.quirks.taskList = 'empty';
    machine.bmc.inject({ ...simpleUpdate, ...fault, times });
    await clean(bmc);
    await says('the BMC to accept the update of bmc');
    await pass(50 * minute);
    machine.bmc.clearFaults();
    const accepted = Date.now();
    await says('waiting_for":"the BMC to update bmc"');
    expect(Date.parse((await stepRow())?.wait_until ?? '')).toBeGreaterThanOrEqual(accepted + 60 * minute);
    expect(await holdEnd()).toBeGreaterThanOrEqual(accepted + 60 * minute);
    letItEnd();
    await rests('manageable');
    expect(await version('bmc')).toBe('3.0.0');
    expect(machine.bmc.counters.resetsAmidWork).toBe(0);
  });
});

test('power that a person has released is held again for the next request', async () => {
  refuse();
  await clean(bmc);
  await says('the BMC to accept the update of bmc');
  await waitUntil('the release', async () =>
    hasty.call('POST', `/v1/nodes/${name}/flow/release_power`).then(
      () => true,
      () => undefined,
    ),
  );
  machine.bmc.clearFaults();
  await says('waiting_for":"the BMC to update bmc"');
  expect(await holdEnd()).toBeGreaterThan(Date.now() + 50 * minute);
  letItEnd();
  await rests('manageable');
  expect(machine.bmc.counters.resetsAmidWork).toBe(0);
});

describe('a BMC that answers 500 for an image that it does not take', () => {
  test('and lists other tasks only, is asked for minutes, ever more rarely; then its words are the failure', async () => {
    const Members = [{ '@odata.id': '/redfish/v1/TaskService/Tasks/of-last-week' }];
    const body = { Name: 'Tasks', Members, 'Members@odata.count': 1 };
    machine.bmc.inject({ method: 'GET', path: /TaskService\/Tasks$/, body, times });
    refuse();
    await clean(bmc);
    await says('the BMC to accept the update of bmc');
    while ((await lookIn(minute / 4)) !== 'rests');
    await rests('clean failed');
    expect(await operator.node(name)).toMatchObject({
      last_error: expect.stringMatching(/has not begun.*The image is for another board/) as string,
      driver_internal_info: expect.not.objectContaining({ baton_power_hold: expect.anything() as unknown }) as object,
    });
    expect(asked()).toBeGreaterThan(2);
    expect(asked()).toBeLessThan(13);
  });

  test('and lists no tasks at all, is asked ever more rarely, and its power is held', async () => {
    machine.bmc.quirks.taskList = 'empty';
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
    machine.bmc.inject({ method: 'GET', path: /TaskService\/Tasks$/, status: 500, times });
    for (let looks = 0; looks < 15; looks += 1) await lookIn(minute);
    await says('the BMC to accept the update of bmc');
    expect(await holdEnd()).toBeGreaterThan(Date.now() + 50 * minute);
  });
});
