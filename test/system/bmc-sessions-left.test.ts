import { expect, test } from 'vitest';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { prepareConductor } from '#test/support/conductor.ts';
import { createOperator } from '#test/support/operator.ts';

/** `SESSION_KILLS` = how often; each is a process that starts. */
const kills = Number(process.env['SESSION_KILLS'] ?? '3');
/** More take longer than what would never end. */
const timeout = Math.max(50, 3 * kills) * 60_000;

test('a conductor ends the session that it had at a BMC before SIGKILL, though the password has changed', {
  timeout,
}, async () => {
  const account = { username: 'admin', password: 'first' };
  await using closing = new AsyncDisposableStack();
  const bmc = await startRedfishSimulator({ machine: createMemoryMachine(), ...account });
  closing.defer(() => bmc.close());
  const conductor = await prepareConductor({ BATON_POWER_SYNC_INTERVAL: '1' });
  closing.defer(() => conductor.close());
  await conductor.start();
  const operator = createOperator(conductor.url, { retries: 30 });
  const driverInfo = {
    redfish_address: bmc.address,
    redfish_username: account.username,
    redfish_password: account.password,
  };
  await operator.call('POST', '/v1/nodes', { name: 'n1', driver: 'redfish', driver_info: driverInfo });
  await operator.provision('n1', 'manage');
  await operator.waitForState('n1', 'manageable');
  for (let kill = 1; kill <= kills; kill += 1) {
    const password = `password-${kill}`;
    await conductor.kill('SIGKILL');
    bmc.setAccount(account.username, password);
    const { logins } = bmc.counters;
    await conductor.start();
    await operator.call('PATCH', '/v1/nodes/n1', [
      { op: 'add', path: '/driver_info/redfish_password', value: password },
    ]);
    await expect.poll(() => bmc.counters.logins).toBeGreaterThan(logins);
    await expect.poll(() => bmc.sessionCount()).toBe(1);
  }
  await conductor.kill('SIGTERM');
  expect(bmc.counters.logins).toBeGreaterThan(kills);
  expect(bmc.sessionCount()).toBe(0);
});
