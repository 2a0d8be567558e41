import { eq } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { agentSessions } from '#conductor/kernel/db/schema/agent.ts';
import { createOperator } from '#test/support/operator.ts';
import { off, openStepNode, type StepNode, step, waitUntil } from '#test/support/step-node.ts';

/** Steps of the agent that a loss of power may leave broken: nothing switches power before they have ended. */

let node: StepNode;
let letItEnd: () => void;

beforeAll(async () => {
  node = await openStepNode();
  await node.rest('manageable');
});
afterAll(() => node.close());
afterEach(async () => {
  letItEnd();
  node.heal();
  await node.rest('manageable');
});

/** Cleans with a step that goes on until the test lets it end. */
async function clean(name: string): Promise<void> {
  const { promise: until, resolve } = Promise.withResolvers<void>();
  letItEnd = resolve;
  node.machine.faults.slowStep = { step: name, until };
  await node.operator.provision(node.name, 'clean', { clean_steps: [step(name)] });
  await node.runs(name);
}

const why = (name: string): string => `deploy.${name} may be under way`;
const waitsFor = (text: string) =>
  waitUntil('the power to be kept', async () =>
    (await node.flow()).steps.some(({ waiting_for: reason }) => reason?.includes(text)) ? true : undefined,
  );
const internalInfo = async () => (await node.operator.node(node.name))['driver_internal_info'];
const isOn = { power: 'on', runs: 'ramdisk' };

test.each(['erase_devices', 'secure_erase', 'flash'])('an abort amid %s waits for its end', async (name) => {
  await clean(name);
  expect(await internalInfo()).toMatchObject({ baton_power_hold: { reason: why(name) } });
  await node.operator.provision(node.name, 'abort');
  if (name !== 'flash') await waitsFor(why(name)); // which is not abortable: there the abort waits itself
  expect(node.machine.state()).toEqual(isOn);
  letItEnd();
  const failed = await node.operator.waitForState(node.name, 'clean failed');
  expect(failed['last_error']).toBe("stopped by the operator's 'abort'");
  expect(failed['driver_internal_info']).not.toHaveProperty('baton_power_hold');
  expect(node.machine.state()).toEqual(off);
  expect(node.machine.disk.at(-1)).toContain(name);
});

test('a step whose agent says that it breaks nothing is stopped at once, whatever its name', async () => {
  await clean('flash_lights');
  expect(await internalInfo()).not.toHaveProperty('baton_power_hold');
  await node.operator.provision(node.name, 'abort');
  await node.operator.waitForState(node.name, 'clean failed');
  expect(node.machine.state()).toEqual(off);
});

test('a lost agent leaves the machine on, until a person says that nothing is under way', async () => {
  await clean('erase_devices');
  await node.machine.stopAgent();
  const { db } = node.conductor.context();
  const { uuid } = (await node.operator.node(node.name)) as { uuid: string };
  await db
    .update(agentSessions)
    .set({ lastHeartbeatAt: new Date(0) })
    .where(eq(agentSessions.nodeUuid, uuid));
  await createOperator(node.conductor.url, { retries: 30 }).call('POST', `/v1/nodes/${node.name}/flow/retry`);
  await waitsFor(why('erase_devices'));
  expect(node.machine.state().power).toBe('on');
  const flow = await node.operator.call('GET', `/v1/nodes/${node.name}/flow`);
  expect(flow['error']).toContain('the agent is lost');

  await node.operator.call('POST', `/v1/nodes/${node.name}/flow/release_power`);
  await node.operator.waitForState(node.name, 'clean failed');
  expect(node.machine.state()).toEqual(off);
  const { history } = await node.operator.call('GET', `/v1/nodes/${node.name}/history?detail=true`);
  expect(history).toContainEqual(
    expect.objectContaining({ event: expect.stringContaining(`since ${why('erase_devices')}`) as string }),
  );
  const again = node.operator.call('POST', `/v1/nodes/${node.name}/flow/release_power`);
  await expect(again).rejects.toThrow('no step holds its power');
});

test('a person ends a step that must not be interrupted, by saying so first or after the abort', async () => {
  for (const verbs of [
    ['release', 'abort'],
    ['abort', 'release'],
  ]) {
    await clean('flash');
    for (const verb of verbs) {
      if (verb === 'abort') await node.operator.provision(node.name, 'abort');
      else await node.operator.call('POST', `/v1/nodes/${node.name}/flow/release_power`);
    }
    await node.operator.waitForState(node.name, 'clean failed');
    expect(node.machine.state()).toEqual(off);
    letItEnd();
    await node.rest('manageable');
  }
});

test('a conductor that dies at any checkpoint of an abort switches nothing before the step has ended', async () => {
  const deaths = await node.conductor.dieAtEach({
    prepare: async () => {
      node.heal();
      await node.rest('manageable');
      await clean('secure_erase');
    },
    act: async () => {
      await node.operator.provision(node.name, 'abort');
      await waitsFor(why('secure_erase'));
      expect(node.machine.state()).toEqual(isOn);
      letItEnd();
      await node.operator.waitForState(node.name, 'clean failed');
    },
    check: () => {
      expect(node.machine.state()).toEqual(off);
      return Promise.resolve();
    },
  });
  expect(deaths).toBeGreaterThanOrEqual(3);
});
