import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { demoInstance } from '#test/support/enrol.ts';
import { openStepNode, type StepNode, step, waitUntil } from '#test/support/step-node.ts';

/**
 * A BMC takes a call and doesn't answer: whatever state waits for it is aborted at once, by cancelling that call. The
 * conductor here would wait for an hour.
 */

const anHourMs = 3_600_000;
let node: StepNode;

beforeAll(async () => {
  node = await openStepNode({
    settings: { BATON_POWER_TIMEOUT: '3600', BATON_RETRY_TIMEOUT: '3600' },
    drivers: { redfish: { answerMs: anHourMs } },
  });
});
afterAll(() => node.close());
afterEach(() => node.heal());

const ask = (target: string, more: object = {}) => node.operator.provision(node.name, target, { ...more });

/** Has the BMC not answer its next call of this kind, and waits until a conductor waits for it. */
async function untilSilent(path: RegExp, begin: () => Promise<void>): Promise<void> {
  node.machine.bmc.inject({ path, hang: true });
  await begin();
  await waitUntil('the call that is not answered', async () => {
    const { reservation } = await node.operator.node(node.name);
    return (reservation !== null && node.machine.bmc.faultsLeft() === 0) || undefined;
  });
}

const rescue = { rescue_password: 'let me in please' };
const states: readonly {
  readonly during: ProvisionState;
  readonly from: 'manageable' | 'available' | 'active' | 'rescue';
  readonly begin: () => Promise<void>;
  readonly rests: ProvisionState;
  readonly back: () => Promise<void>;
}[] = [
  {
    during: 'verifying',
    from: 'manageable',
    begin: async () => undefined,
    rests: 'enroll',
    back: () => ask('manage'),
  },
  {
    during: 'inspecting',
    from: 'manageable',
    begin: () => ask('inspect'),
    rests: 'inspect failed',
    back: () => ask('manage'),
  },
  {
    during: 'cleaning',
    from: 'manageable',
    begin: () => ask('clean', { clean_steps: [step('wipe')] }),
    rests: 'clean failed',
    back: () => ask('manage'),
  },
  {
    during: 'deploying',
    from: 'available',
    begin: () => ask('active'),
    rests: 'deploy failed',
    back: () => ask('deleted'),
  },
  {
    during: 'servicing',
    from: 'active',
    begin: () => ask('service', { service_steps: [step('check')] }),
    rests: 'service failed',
    back: () => ask('abort'),
  },
  {
    during: 'rescuing',
    from: 'active',
    begin: () => ask('rescue', rescue),
    rests: 'rescue failed',
    back: () => ask('unrescue'),
  },
  {
    during: 'unrescuing',
    from: 'rescue',
    begin: () => ask('unrescue'),
    rests: 'unrescue failed',
    back: () => ask('unrescue'),
  },
  { during: 'deleting', from: 'active', begin: () => ask('deleted'), rests: 'error', back: () => ask('deleted') },
];

async function reach(state: (typeof states)[number]['from']): Promise<void> {
  if (state !== 'rescue') return node.rest(state);
  await node.rest('active');
  await ask('rescue', rescue);
  await node.operator.waitForState(node.name, 'rescue');
}

test.each(states.filter(({ during }) => during !== 'verifying'))(
  '$during',
  async ({ during, from, begin, rests, back }) => {
    await reach(from);
    await untilSilent(/Systems/, begin);
    expect((await node.operator.node(node.name))['provision_state']).toBe(during);
    await ask('abort');
    const rested = await node.operator.waitForState(node.name, rests);
    expect(rested['last_error']).toContain("stopped by the operator's 'abort'");
    const { state, steps } = await node.flow();
    expect(state).toBe('aborted');
    expect(steps.find((each) => each.state === 'failed')).toMatchObject({ error: "stopped by the operator's 'abort'" });
    // and from there the node goes on
    await back();
    await node.operator.waitForRest(node.name);
    await node.operator.call('DELETE', `/v1/nodes/${node.name}/maintenance`);
  },
);

test('verifying', async () => {
  const { bmc, driverInfo } = node.machine;
  const name = 'fresh';
  await node.operator.call('POST', '/v1/nodes', { name, driver: 'redfish', driver_info: driverInfo });
  bmc.inject({ path: /Systems/, hang: true });
  await node.operator.provision(name, 'manage');
  await waitUntil('the call that is not answered', () => bmc.faultsLeft() === 0 || undefined);
  await node.operator.provision(name, 'abort');
  expect(await node.operator.waitForState(name, 'enroll')).toMatchObject({
    last_error: "stopped by the operator's 'abort'",
  });
  // the conductor that waited has let go: the next request is served
  await node.operator.provision(name, 'manage');
  await node.operator.waitForState(name, 'manageable');
});

test('a step that must not be broken off ends first', async () => {
  await node.rest('manageable');
  let end: (value: unknown) => void = () => undefined;
  node.machine.faults.slowStep = { step: 'careful', until: new Promise((resolve) => (end = resolve)) };
  await ask('clean', { clean_steps: [step('careful'), step('wipe')] });
  await node.runs('careful');
  await ask('abort');
  const flow = await node.operator.call('GET', `/v1/nodes/${node.name}/flow`);
  expect(flow).toMatchObject({
    state: expect.stringMatching(/waiting|running/),
    advice: expect.stringContaining('careful'),
  });
  end(undefined);
  await node.operator.waitForState(node.name, 'clean failed');
  const { steps } = await node.flow();
  expect(steps.find((each) => each.step === 'careful')).toMatchObject({ state: 'succeeded' });
  expect(steps.find((each) => each.step === 'wipe')).toMatchObject({ state: 'skipped' });
  await node.operator.provision(node.name, 'manage');
  await node.patch('/instance_info', demoInstance);
});
