import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { createDraw } from '#test/support/draw.ts';
import { type KindOfWork, kindsOfWork, lossesOf } from '#test/support/drawn-work.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { bringTo, type FlashedNode, type FlashStage, runSchedule } from '#test/support/flash-schedules.ts';
import { createOperator } from '#test/support/operator.ts';
import { waitUntil } from '#test/support/step-node.ts';

/**
 * No machine loses power while its firmware is written, its volumes are made, its BIOS takes settings, or its agent writes
 * what must end: schedules of faults of the BMC, kills of conductors, failures and what operators ask for, all drawn.
 * `FLASH_SCHEDULES` = how many of each of `FLASH_KINDS`; `FLASH_SEED` = the first one's seed.
 */

const schedules = Number(process.env['FLASH_SCHEDULES'] ?? '7');
const kinds = (process.env['FLASH_KINDS']?.split(',') as KindOfWork[] | undefined) ?? kindsOfWork;
const firstSeed = Number(process.env['FLASH_SEED'] ?? '1');
const lanes = 4;
/** More take longer than what would never end. */
const timeout = Math.max(50, schedules) * 60_000;

let conductor: ConductorInProcess;
let stage: FlashStage;
const nodes: FlashedNode[] = [];

beforeAll(async () => {
  conductor = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_RETRY_TIMEOUT: '1' },
    drivers: { redfish: { retryMs: 2 } },
  });
  const blows: ('die' | 'fail')[] = [];
  conductor.atCheckpoints((point) => {
    if (blows[0] === 'die') return blows.shift() === 'die' ? 'die' : 'go on';
    if (blows[0] !== 'fail' || point !== 'acted') return 'go on';
    blows.shift();
    return new Error('struck by the test');
  });
  const operator = createOperator(conductor.url, { retries: 30 });
  stage = { conductor, operator, hasty: createOperator(conductor.url), strike: (blow) => void blows.push(blow) };
  for (let lane = 0; lane < lanes; lane += 1) {
    const mac = `52:54:00:00:f1:0${lane}`;
    const machine = await startSimulatedNode({
      conductorUrl: () => conductor.url,
      mac,
      cleanSteps: [{ step: 'flash' }, { step: 'secure_erase', abortable: true }],
    });
    const name = await enrolSimulatedNode(operator, machine, `flashed-${lane}`);
    await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/raid_interface', value: 'redfish' }]);
    nodes.push({ name, machine });
  }
});
afterAll(async () => {
  for (const { machine } of nodes) await machine.close();
  await conductor.close();
});

test(`${schedules} schedules of each kind of work: ${kinds.join(', ')}`, { timeout }, async () => {
  const draws = Array.from({ length: schedules }, (_, index) =>
    kinds.map((kind) => ({ kind, seed: firstSeed + index })),
  );
  const left = draws.flat();
  const struck: object[] = [];
  let done = 0;
  await Promise.all(
    nodes.map(async (node) => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const before = lossesOf(node.machine);
        const { kind, seed } = next;
        const story = await runSchedule(stage, node, { kind, draw: createDraw(seed) });
        done += 1;
        if (lossesOf(node.machine) > before) struck.push({ kind, seed, story });
      }
    }),
  );
  expect(struck).toEqual([]);
  expect(done).toBe(schedules * kinds.length);
  // what is asserted would mean nothing of machines that are never reset at all
  expect(nodes.every(({ machine }) => machine.bmc.counters.powerChanges > 0)).toBe(true);
});

test('a reset amid it is seen: by a person who says that nothing is under way, and is wrong', async () => {
  const [node] = nodes;
  if (!node) throw new Error('there is no node');
  const { name, machine } = node;
  const { operator } = stage;
  const { promise, resolve } = Promise.withResolvers<void>();
  await bringTo(stage, node, 'manageable');
  machine.bmc.quirks.flashesUntil = promise;
  const before = machine.bmc.counters.resetsAmidWork;
  const settings = [{ component: 'bios', url: 'http://192.0.2.7/bios-9.9.9.bin' }];
  const step = { interface: 'firmware', step: 'update', args: { settings } };
  await operator.provision(name, 'clean', { clean_steps: [step], disable_ramdisk: true });
  await waitUntil(
    'the update',
    async () =>
      JSON.stringify(await operator.call('GET', `/v1/nodes/${name}/flow`)).includes('the BMC to update bios') ||
      undefined,
  );
  await operator.provision(name, 'abort');
  await operator.call('POST', `/v1/nodes/${name}/flow/release_power`);
  await operator.waitForState(name, 'clean failed');
  resolve();
  expect(machine.bmc.counters.resetsAmidWork).toBeGreaterThan(before);
});
