import { expect, test } from 'vitest';
import { startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { prepareConductor } from '#test/support/conductor.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator } from '#test/support/operator.ts';
import { waitUntil } from '#test/support/step-node.ts';

test('a conductor that is killed as it switches the machine on for new firmware has reset it: no other does once more', async () => {
  await using closing = new AsyncDisposableStack();
  const conductor = await prepareConductor();
  closing.defer(() => conductor.close());
  await conductor.start();
  const machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac: '52:54:00:00:c7:01' });
  closing.defer(() => machine.close());
  const operator = createOperator(conductor.url, { retries: 30 });
  const name = await enrolSimulatedNode(operator, machine, 'reset-1');
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  const { promise, resolve } = Promise.withResolvers<void>();
  Object.assign(machine.bmc.quirks, { firmwareWrittenAfter: promise, slowPowerMs: 3000, taskPolls: 1 });
  const settings = [{ component: 'bios', url: 'http://192.0.2.7/bios-2.1.0.bin' }];
  const step = { interface: 'firmware', step: 'update', args: { settings } };
  const from = machine.bmc.requests.length;
  const resets = () =>
    machine.bmc.requests.slice(from).flatMap(({ path, body }) => (path.endsWith('.Reset') ? [body] : []));
  await operator.provision(name, 'clean', { clean_steps: [step], disable_ramdisk: true });
  await waitUntil('the machine to be switched on', () => resets().some((body) => body.includes('"On"')) || undefined);
  await conductor.kill('SIGKILL');
  const before = resets();
  await conductor.start();
  await waitUntil('the wait for its start', async () => {
    await operator.call('POST', `/v1/nodes/${name}/flow/retry`).catch(() => undefined);
    const flow = JSON.stringify(await operator.call('GET', `/v1/nodes/${name}/flow`));
    return flow.includes('the machine to start with the new bios') || undefined;
  });
  expect(resets()).toEqual(before);
  resolve();
  await operator.waitForState(name, 'manageable');
  expect(resets()).toEqual(before);
  expect(machine.bmc.counters.resetsAmidWork).toBe(0);
});
