import { expect, onTestFinished, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { freshSonic, startProgramSwitch } from '#test/simulators/switch/program-switch.ts';
import { accessTo } from '#test/simulators/switch/under-test.ts';

test('a bond with a pair needs an MCLAG domain, and its ports are what they were without', async () => {
  const ports = ['Ethernet0', 'Ethernet4'];
  const sonic = await startProgramSwitch({ ...freshSonic(ports), MCLAG_DOMAIN: {} });
  const connection = findSwitchDriver('sonic').connect({ ...accessTo(sonic), bondNumbers: { from: 101, to: 110 } });
  onTestFinished(async () => {
    await connection.close();
    await sonic.stop();
  });
  const plain = ports.map((portId) => ({ portId, vlans: portVlans(100) }));
  await connection.apply(plain);
  const bond = { number: 101, mode: 'lacp', acrossPair: true } as const;
  await expect(connection.apply(plain.map((each) => ({ ...each, bond })))).rejects.toMatchObject({
    code: 'switch_error',
    message: expect.stringContaining('Error: it has no MCLAG domain: set one up by config mclag add'),
  });
  expect(await connection.readPorts(ports)).toEqual(plain);
});
