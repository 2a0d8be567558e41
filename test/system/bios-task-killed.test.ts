import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { waitUntil } from '#test/support/step-node.ts';

/**
 * Conductors that die while a BMC's task of BIOS settings runs: the next one takes it up, judges by its end, and resets
 * nothing amid it.
 */

let conductor: ConductorInProcess;
let operator: Operator;
let hasty: Operator;
let machine: SimulatedNode;
let name: string;
let endTask: () => void;
let nodes = 0;

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog, drivers: { redfish: { retryMs: 2 } } });
  operator = createOperator(conductor.url, { retries: 30 });
  hasty = createOperator(conductor.url);
});
afterAll(() => conductor.close());
/** A node that is manageable, and whose BMC has been so from the start. */
async function open(quirks: Partial<Quirks> = {}): Promise<void> {
  nodes += 1;
  const mac = `52:54:00:00:b7:${nodes.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  Object.assign(machine.bmc.quirks, quirks);
  onTestFinished(() => machine.close());
  name = await enrolSimulatedNode(operator, machine, `bios-killed-${nodes}`);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
}

const look = (): Promise<unknown> => hasty.call('POST', `/v1/nodes/${name}/flow/retry`).catch(() => undefined);
const says = (words: string): Promise<true> =>
  waitUntil(words, async () => {
    await look();
    return JSON.stringify(await operator.call('GET', `/v1/nodes/${name}/flow`)).includes(words) || undefined;
  });
const rests = (state: string): Promise<unknown> =>
  waitUntil(state, async () => {
    await look();
    const { provision_state: now, reservation, last_error: error } = await operator.node(name);
    return now === state && reservation === null ? { error } : undefined;
  });
const polls = () =>
  machine.bmc.requests.filter(({ path }) => /TaskService\/Task(Monitor)?s\/.|JobService\/Jobs\/./.test(path)).length;
const isAskedAgain = async (): Promise<unknown> => {
  const before = polls();
  return waitUntil('more looks at the task', async () => {
    await look();
    return polls() > before + 1 || undefined;
  });
};

/** Begins a task that runs until `endTask`. */
async function clean(step: object): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  Object.assign(machine.bmc.quirks, { failTasks: false, biosTaskEnds: promise });
  endTask = resolve;
  await operator.provision(name, 'clean', { clean_steps: [step], disable_ramdisk: true });
}

let count = 0;
const apply = () => {
  count += 1;
  const settings = [{ name: 'AssetTag', value: `tag ${count}` }];
  return { interface: 'bios', step: 'apply_configuration', args: { settings } };
};
const reset = () => ({ interface: 'bios', step: 'factory_reset' });
const ofSettings = 'the BMC to end its task of the BIOS settings, which it shows already';
const ofDefaults = 'the BMC to end its task of the reset of the BIOS settings';

const kinds: readonly (readonly [string, () => object, string, Partial<Quirks>])[] = [
  ['settings', apply, ofSettings, {}],
  ['settings by a job of Dell', apply, ofSettings, { dellJobs: true, oneBiosJob: true }],
  ['defaults', reset, ofDefaults, {}],
  ['defaults by a job of Dell', reset, ofDefaults, { dellJobs: true }],
  ['defaults of a BIOS that shows no settings', reset, ofDefaults, { noBiosAttributes: true }],
];
const ends = [
  ['ends well', false, 'manageable'],
  ['fails', true, 'clean failed'],
] as const;

describe.each(kinds)('a task of %s, amid which a conductor dies at each checkpoint,', (_what, step, reason, quirks) => {
  test.each(ends)('is taken up by the next one, and %s', async (_how, failTasks, state) => {
    await open(quirks);
    const strike = (point: number) => {
      let passed = 0;
      conductor.atCheckpoints(() => {
        passed += 1;
        return passed === point ? 'die' : 'go on';
      });
      return () => passed;
    };
    const whole = strike(0);
    let points = Number.POSITIVE_INFINITY;
    for (let point = 0; point <= points; point += 1) {
      const passed = point === 0 ? whole : strike(point);
      await clean(step());
      if (point === 0) await says(reason);
      else {
        await waitUntil(`checkpoint ${point}`, async () => {
          await look();
          return passed() >= point || undefined;
        });
        await conductor.reborn();
        await says(reason);
      }
      // two more: a look at what waits
      if (point === 0) points = passed() + 2;
      await isAskedAgain();
      await says(reason);
      machine.bmc.quirks.failTasks = failTasks;
      endTask();
      const end = await rests(state);
      expect(JSON.stringify(end), `died at checkpoint ${point}`).toContain(failTasks ? 'on purpose' : 'null');
      expect(machine.bmc.counters.resetsAmidWork, `died at checkpoint ${point}`).toBe(0);
      conductor.atCheckpoints(() => 'go on');
      if (failTasks) {
        await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
        await operator.provision(name, 'manage');
      }
      await rests('manageable');
    }
    expect(points).toBeGreaterThan(4);
  });
});

describe("a job of Dell's whose task is gone", () => {
  test.each(ends)('amid the work is asked in its place, and %s', async (_how, failTasks, state) => {
    await open({ dellJobs: true });
    await clean(apply());
    await says(ofSettings);
    machine.bmc.restart();
    await isAskedAgain();
    await says(ofSettings);
    machine.bmc.quirks.failTasks = failTasks;
    endTask();
    const end = await rests(state);
    expect(JSON.stringify(end)).toContain(failTasks ? 'Unable to complete the job on purpose.' : 'null');
  });

  test('and whose answer was lost is found by its kind: a second request is refused', async () => {
    await open({ dellJobs: true, oneBiosJob: true });
    machine.bmc.inject({ method: 'PATCH', path: /Settings$/, dropAnswer: true });
    await clean(apply());
    await says(ofSettings);
    endTask();
    expect(await rests('manageable')).toEqual({ error: null });
  });
});

describe('defaults of which no task tells the end', () => {
  const unsaid = 'the BMC to show other BIOS settings than before: no task of the BMC tells whether they were reset';

  test('are back where the settings are others than before', async () => {
    await open();
    await clean(apply());
    endTask();
    await rests('manageable');
    await clean(reset());
    await says(ofDefaults);
    machine.bmc.restart();
    expect(await rests('manageable')).toEqual({ error: null });
  });

  test.each([
    ['that shows the settings of before', {}],
    ['that shows none', { noBiosAttributes: true }],
  ])('are not known to be back at a BMC %s', async (_which, quirks) => {
    await open(quirks);
    await clean(reset());
    await says(ofDefaults);
    machine.bmc.restart();
    await says(unsaid);
    await look();
    await says(unsaid);
    // a person says that nothing is under way, and its minutes are over
    await operator.call('POST', `/v1/nodes/${name}/flow/release_power`);
    const { db } = conductor.context();
    await db.execute(sql`update flow_steps set wait_until = now() - interval '1 second' where state = 'waiting'`);
    expect(JSON.stringify(await rests('clean failed'))).toContain(unsaid);
  });

  test('are not known to be back where the BMC has taken it without a word, and shows no settings', async () => {
    await open({ noBiosAttributes: true });
    machine.bmc.inject({ method: 'POST', path: /Bios.ResetBios$/, status: 202, body: {} });
    await clean(reset());
    await says(unsaid);
    expect((await operator.node(name))['provision_state']).toMatch(/^clean(ing| wait)$/);
  });

  test('are not back by what is no BIOS, at a BMC that shows no settings', async () => {
    await open({ noBiosAttributes: true });
    await clean(reset());
    await says(ofDefaults);
    const body = { '@odata.id': '/redfish/v1/', Id: 'RootService', Name: 'Root' };
    machine.bmc.inject({ method: 'GET', path: /Bios$/, body, times: Number.POSITIVE_INFINITY });
    endTask();
    await says('the BMC to show its BIOS settings again');
    machine.bmc.clearFaults();
    expect(await rests('manageable')).toEqual({ error: null });
  });

  test('are back by the word of a BMC that shows no settings', async () => {
    await open({ noBiosAttributes: true });
    await operator.provision(name, 'clean', { clean_steps: [reset()], disable_ramdisk: true });
    expect(await rests('manageable')).toEqual({ error: null });
  });

  test('have failed where an error alone is the answer, whatever its status', async () => {
    const body = { error: { code: 'Base.1.8.GeneralError', message: 'A general error has occurred.' } };
    const times = Number.POSITIVE_INFINITY;
    await open({ noBiosAttributes: true });
    machine.bmc.inject({ method: 'POST', path: /Bios.ResetBios$/, status: 200, body, times });
    await clean(reset());
    await says('A general error has occurred.');
    expect((await operator.node(name))['provision_state']).not.toBe('manageable');
  });
});
