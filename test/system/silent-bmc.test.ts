import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** A BMC that takes the connection and never says a word holds no node from its operator. */

let conductor: ConductorProcess;
let operator: Operator;
let silent: Server;
const taken = new Set<Socket>();
let name = '';
let count = 0;

beforeAll(async () => {
  conductor = await prepareConductor();
  await conductor.start();
  operator = createOperator(conductor.url);
});
afterAll(async () => {
  await conductor.close();
});
afterEach(() => {
  for (const socket of taken) socket.destroy();
  taken.clear();
  silent.close();
});
beforeEach(async () => {
  // one for each: nodes of one BMC wait for one login
  silent = createServer((socket) => {
    taken.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  count += 1;
  name = `n${count}`;
  const { port } = silent.address() as AddressInfo;
  const driverInfo = { redfish_address: `http://127.0.0.1:${port}`, redfish_username: 'a', redfish_password: 'b' };
  await operator.call('POST', '/v1/nodes', { name, driver: 'redfish', driver_info: driverInfo });
  await operator.provision(name, 'manage');
  // a conductor is at it, and waits for the BMC
  await waitUntil('a call that is not answered', async () => {
    const { reservation } = await operator.node(name);
    return (reservation !== null && taken.size > 0) || undefined;
  });
});

test('its verification can be aborted, at once', async () => {
  await operator.provision(name, 'abort');
  expect(await operator.node(name)).toMatchObject({
    provision_state: 'enroll',
    target_provision_state: null,
    reservation: null,
    last_error: "stopped by the operator's 'abort'",
  });
});

test('in maintenance it can be deleted, at once', async () => {
  await expect(operator.call('DELETE', `/v1/nodes/${name}`)).rejects.toThrow('409');
  await operator.call('PUT', `/v1/nodes/${name}/maintenance`, {});
  await operator.call('DELETE', `/v1/nodes/${name}`);
  await expect(operator.node(name)).rejects.toThrow('404');
});
