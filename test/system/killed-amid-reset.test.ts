import { beforeEach, expect, test } from 'vitest';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, isAtRest, type Operator } from '#test/support/operator.ts';
import { waitUntil } from '#test/support/step-node.ts';

let conductor: ConductorProcess;
let machine: SimulatedNode;
let operator: Operator;
let name: string;

beforeEach(async () => {
  await using closing = new AsyncDisposableStack();
  conductor = await prepareConductor();
  closing.defer(() => conductor.close());
  await conductor.start();
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac: '52:54:00:00:c7:01' });
  closing.defer(() => machine.close());
  operator = createOperator(conductor.url, { retries: 30 });
  name = await enrolSimulatedNode(operator, machine, 'reset-1');
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  machine.bmc.quirks.slowPowerMs = 3000;
  const opened = closing.move();
  return () => opened.disposeAsync();
});

/** Kills the conductor as soon as the machine is asked to switch on. @returns reads all resets asked for until then and since */
async function killedAsItSwitchesOn(act: () => Promise<unknown>): Promise<() => readonly string[]> {
  const from = machine.bmc.requests.length;
  const resets = () =>
    machine.bmc.requests.slice(from).flatMap(({ path, body }) => (path.endsWith('.Reset') ? [body] : []));
  await act();
  await waitUntil('the machine to be switched on', () => resets().some((body) => body.includes('"On"')) || undefined);
  await conductor.kill('SIGKILL');
  return resets;
}

test('a conductor that is killed as it switches the machine on for new firmware has reset it: no other does once more', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  Object.assign(machine.bmc.quirks, { firmwareWrittenAfter: promise, taskPolls: 1 });
  const settings = [{ component: 'bios', url: 'http://192.0.2.7/bios-2.1.0.bin' }];
  const step = { interface: 'firmware', step: 'update', args: { settings } };
  const resets = await killedAsItSwitchesOn(() =>
    operator.provision(name, 'clean', { clean_steps: [step], disable_ramdisk: true }),
  );
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

const reboot = { interface: 'power', step: 'reboot' };
const power = (target: string) => operator.call('PUT', `/v1/nodes/${name}/states/power`, { target });
const isOn = () =>
  expect
    .poll(async () => {
      const { power_state: state, target_power_state: target } = await operator.node(name);
      return { state, target };
    })
    .toEqual({ state: 'power on', target: null });

test.each([
  ['that an operator asks for', () => power('rebooting')],
  ['that is a step', () => operator.provision(name, 'clean', { clean_steps: [reboot], disable_ramdisk: true })],
  ['into the ramdisk', () => operator.provision(name, 'inspect')],
])('a boot %s is done once: another conductor switches nothing off that is on its way', async (_which, act) => {
  await power('power on');
  await isOn();
  const resets = await killedAsItSwitchesOn(act);
  // the machine is there before anybody looks
  await waitUntil('the machine to be on', () => machine.state().power === 'on' || undefined);
  await conductor.start();
  await waitUntil('the node to rest', async () => {
    const node = await operator.node(name);
    return (isAtRest(node) && node['target_power_state'] === null) || undefined;
  });
  expect(resets().filter((body) => body.includes('"On"'))).toHaveLength(1);
});
