import { afterAll, beforeAll, expect, test } from 'vitest';
import { demoInstance } from '#test/support/enrol.ts';
import { openStepNode, type StepNode, waitUntil } from '#test/support/step-node.ts';

/** While a person has their hands in the machine nothing is done, and no time runs out. */

let node: StepNode;
const limitMs = 10_000;
beforeAll(async () => {
  node = await openStepNode({
    settings: { BATON_CALLBACK_TIMEOUT: String(limitMs / 1000), BATON_RECONCILE_INTERVAL: '0.2' },
  });
});
afterAll(() => node.close());

test('a deploy that waits when maintenance begins has all the rest of its time when it ends', async () => {
  await node.rest('available');
  await node.patch('/instance_info', demoInstance);
  node.machine.faults.bootsNothing = true;
  await node.operator.provision(node.name, 'active');
  await node.runs('deploy');
  await node.operator.call('PUT', `/v1/nodes/${node.name}/maintenance`, { reason: 'a cable' });
  const held = async () => (await node.operator.call('GET', `/v1/nodes/${node.name}/flow`))['held'];
  await waitUntil('the flow to be held', async () => (await held()) !== null || undefined);
  const heldAt = performance.now();
  await waitUntil('more time than the limit', () => performance.now() - heldAt > 2 * limitMs || undefined);
  expect(await held()).toBe('node is in maintenance: a cable');
  expect((await node.operator.node(node.name))['provision_state']).toBe('wait call-back');

  const askedAt = Date.now();
  await node.operator.call('DELETE', `/v1/nodes/${node.name}/maintenance`);
  const goesOn = await waitUntil('the flow to go on', async () => {
    const flow = await node.operator.call('GET', `/v1/nodes/${node.name}/flow`);
    return flow['held'] === null ? flow : undefined;
  });
  const waits = (goesOn['steps'] as { step: string; state: string; wait_until: string }[]).find(
    (step) => step.step === 'deploy',
  );
  expect(waits?.state).toBe('waiting');
  expect(new Date(waits?.wait_until ?? 0).getTime()).toBeGreaterThan(askedAt);
  // nothing has come up meanwhile
  const failed = await node.operator.waitForState(node.name, 'deploy failed');
  expect(failed['last_error']).toContain('gave up waiting for first heartbeat of the ramdisk');
});
