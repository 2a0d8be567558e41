import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { syncPower } from '#conductor/flows/background/sync-power.ts';
import type { Checkpoint } from '#conductor/flows/context.ts';
import { driverSteps } from '#conductor/flows/driver-steps/index.ts';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { lossesOf } from '#test/support/drawn-work.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { bringTo, type FlashStage, lookNow, settle } from '#test/support/flash-schedules.ts';
import { createOperator, isAtRest } from '#test/support/operator.ts';
import { type StepView, waitUntil } from '#test/support/step-node.ts';

/**
 * Every step that must not lose power is killed and failed at each of its points, while the machine is at it and does not
 * end; then an operator wants the machine off. Nothing switches it before the work has ended.
 */

interface Step {
  readonly interface: string;
  readonly step: string;
  readonly args?: object;
}

interface Work {
  readonly step: () => Step;
  /** Step of a cleaning before it. */
  readonly before?: Step;
  /** Makes the machine be at it until then. */
  readonly begin: (until: Promise<unknown>) => void;
  readonly inBand?: true;
  readonly inDeploy?: true;
}

let stage: FlashStage;
let conductor: ConductorInProcess;
let machine: SimulatedNode;
let name: string;

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog, drivers: { redfish: { retryMs: 2 } } });
  const operator = createOperator(conductor.url, { retries: 30 });
  stage = { conductor, operator, hasty: createOperator(conductor.url), strike: () => undefined };
  machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: '52:54:00:00:f3:01',
    cleanSteps: [{ step: 'flash' }, { step: 'secure_erase', abortable: true }],
  });
  name = await enrolSimulatedNode(operator, machine, 'struck');
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/raid_interface', value: 'redfish' }]);
});
afterAll(async () => {
  await machine.close();
  await conductor.close();
});

let letItEnd: () => void = () => undefined;
afterEach(() => end());

/** Each time others, so that there is something to do. */
let count = 0;
const quirks = (more: Readonly<Record<string, unknown>>) => void Object.assign(machine.bmc.quirks, more);
const update = (component: string) => () => ({
  interface: 'firmware',
  step: 'update',
  args: { settings: [{ component, url: `http://192.0.2.7/${component}-9.${count}.0.bin` }] },
});
const settings = () => ({ settings: [{ name: 'AssetTag', value: `tag ${count}` }] });
const disks = { logical_disks: [{ size_gb: 100, raid_level: '1', volume_name: 'v0' }] };
const create = { interface: 'raid', step: 'create_configuration' };
const remove = { interface: 'raid', step: 'delete_configuration' };

const flashes = (flashesUntil: Promise<unknown>) => quirks({ flashesUntil });
const startsWith = (firmwareWrittenAfter: Promise<unknown>) => quirks({ firmwareWrittenAfter });
const applies = (biosAppliesAfter: Promise<unknown>) => quirks({ biosAppliesAfter });
const made = (how: string) => (volumesMadeAfter: Promise<unknown>) => {
  quirks({ volumeApplyTimes: [how], volumesMadeAfter });
  // an answer would come with the end, until which the call follows the task
  if (how === 'Immediate') machine.bmc.inject({ method: 'POST', path: /Volumes$/, dropAnswer: true });
};
const inBand = (step: string): Work => ({
  step: () => ({ interface: 'deploy', step }),
  begin: (until) => void Object.assign(machine.faults, { slowStep: { step, until } }),
  inBand: true,
});

const works: readonly (readonly [what: string, work: Work])[] = [
  ['firmware of the machine', { step: update('bios'), begin: flashes }],
  ['firmware of the BMC', { step: update('bmc'), begin: flashes }],
  ['firmware that is written at the start', { step: update('bios'), begin: startsWith }],
  ['volumes made at once', { before: remove, step: () => create, begin: made('Immediate') }],
  ['volumes made at a reset', { before: remove, step: () => create, begin: made('OnReset') }],
  [
    'volumes made amid a deploy',
    {
      before: remove,
      step: () => ({ interface: 'raid', step: 'apply_configuration', args: { raid_config: disks } }),
      begin: made('Immediate'),
      inDeploy: true,
    },
  ],
  ['volumes deleted at a reset', { before: create, step: () => remove, begin: made('OnReset') }],
  [
    'BIOS settings in a reset',
    { step: () => ({ interface: 'bios', step: 'apply_configuration', args: settings() }), begin: applies },
  ],
  ['BIOS defaults in a reset', { step: () => ({ interface: 'bios', step: 'factory_reset' }), begin: applies }],
  ['secure erase', inBand('secure_erase')],
  ['firmware by the agent', inBand('flash')],
];

test("every step of a BMC's that must not lose power is here", () => {
  const held = driverSteps.filter(({ mustNotLosePower }) => mustNotLosePower !== undefined);
  const title = (each: { readonly interface: string; readonly step: string }) => `${each.interface}.${each.step}`;
  const byBmc = works.filter(([, work]) => !work.inBand).map(([, { step }]) => title(step()));
  expect(held.length).toBeGreaterThan(0);
  expect([...new Set(byBmc)].sort()).toEqual(held.map(title).sort());
});

const steps = async () =>
  ((await stage.operator.call('GET', `/v1/nodes/${name}/flow`)) as { steps: readonly StepView[] }).steps;
const rests = async () => isAtRest(await stage.operator.node(name));

/** Asks for the work, which the machine is at until the test lets it end. */
async function begin(work: Work): Promise<void> {
  const { operator } = stage;
  count += 1;
  const none = undefined;
  quirks({ flashesUntil: none, firmwareWrittenAfter: none, biosAppliesAfter: none, volumesMadeAfter: none });
  delete machine.faults.slowStep;
  await bringTo(stage, { name, machine }, 'manageable');
  await operator.call('PUT', `/v1/nodes/${name}/states/raid`, disks);
  if (work.before) {
    quirks({ volumeApplyTimes: ['Immediate'] });
    await operator.provision(name, 'clean', { clean_steps: [work.before], disable_ramdisk: true });
    await operator.waitForState(name, 'manageable');
  }
  await bringTo(stage, { name, machine }, work.inDeploy ? 'available' : 'manageable');
  const { promise, resolve } = Promise.withResolvers<void>();
  letItEnd = resolve;
  work.begin(promise);
}

async function ask(work: Work): Promise<void> {
  const { operator } = stage;
  const disable_ramdisk = !work.inBand;
  if (!work.inDeploy) return operator.provision(name, 'clean', { clean_steps: [work.step()], disable_ramdisk });
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  return operator.provision(name, 'active', { deploy_steps: [{ args: {}, ...work.step(), priority: 110 }] });
}

/** Whether the flow has ended, or waits: for the machine, or until it may switch power. */
const isWaiting = async (work: Work) => {
  const { step } = work.step();
  const waits = ({ step: each, state, waiting_for: reason }: StepView) =>
    (each === step && state === 'waiting') || reason?.includes('may be under way') === true;
  return (await rests()) || (await steps()).some(waits);
};

const untilItWaits = (work: Work) => waitUntil('what follows', async () => (await isWaiting(work)) || undefined);

/** @returns how many of these points there are until the step waits, where none is struck */
async function countPoints(work: Work, isPoint: (name: Checkpoint) => boolean): Promise<number> {
  let passed = 0;
  conductor.atCheckpoints((point) => {
    passed += isPoint(point) ? 1 : 0;
    return 'go on';
  });
  await begin(work);
  passed = 0;
  await ask(work);
  await untilItWaits(work);
  // two more: looks at what waits
  const points = passed + 2;
  await end();
  return points;
}

async function end(): Promise<void> {
  letItEnd();
  conductor.atCheckpoints(() => 'go on');
  await settle(stage, { name, machine });
}

const blows = [
  ['killed', 'die', () => true],
  ['failed', new Error('struck by the test'), (point: Checkpoint) => point === 'acted'],
] as const;

describe.each(works)('%s', (_what, work) => {
  test.each(blows)('%s at each point, keeps its power until it has ended', async (_how, blow, isPoint) => {
    const points = await countPoints(work, isPoint);
    for (let point = 1; point <= points; point += 1) {
      await begin(work);
      const before = lossesOf(machine);
      let left = point;
      conductor.atCheckpoints((each) => {
        left -= isPoint(each) ? 1 : 0;
        return left === 0 && isPoint(each) ? blow : 'go on';
      });
      await ask(work);
      await waitUntil(`point ${point}`, async () => {
        await lookNow(stage, name);
        return left <= 0 || undefined;
      });
      await conductor.reborn();
      await untilItWaits(work);
      await wantOff();
      await untilItWaits(work);
      await lookNow(stage, name);
      await untilItWaits(work);
      expect(lossesOf(machine), `struck at point ${point}`).toBe(before);
      await end();
      expect(lossesOf(machine), `after point ${point}`).toBe(before);
    }
  });
});

async function wantOff(): Promise<void> {
  const { hasty } = stage;
  for (const verb of ['abort', 'deleted']) await hasty.provision(name, verb).catch(() => undefined);
  await hasty.call('PUT', `/v1/nodes/${name}/states/power`, { target: 'power off' }).catch(() => undefined);
  await syncPower(conductor.context(), new AbortController().signal);
}
