import { expect, onTestFinished, test } from 'vitest';
import { isolated, portVlans } from '#conductor/model/port-vlans.ts';
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

test('a port whose mode takes too little is put into one that does, and isolated in the one it has', async () => {
  const ports = ['Ethernet0', 'Ethernet4', 'PortChannel8'];
  const fresh = freshSonic(ports);
  const modes = {
    PORT: { Ethernet0: { mode: 'routed' }, Ethernet4: { mode: 'access' } },
    PORTCHANNEL: { PortChannel8: {} },
  };
  const sonic = await startProgramSwitch({ ...fresh, ...modes, VLAN_MEMBER: {} });
  const connection = findSwitchDriver('sonic').connect(accessTo(sonic));
  onTestFinished(async () => {
    await connection.close();
    await sonic.stop();
  });
  const modesNow = async () => {
    const { PORT = {}, PORTCHANNEL = {} } = (await sonic.read()) as Record<string, Record<string, { mode?: string }>>;
    return ports.map((port) => ({ ...PORT, ...PORTCHANNEL })[port]?.mode);
  };
  const wanted = [portVlans(100), portVlans(100, [200]), portVlans(100, [200])];
  await connection.apply(ports.map((portId, index) => ({ portId, vlans: wanted[index] ?? isolated })));
  // one without a mode takes both
  expect(await modesNow()).toEqual(['access', 'trunk', undefined]);
  await connection.apply(ports.map((portId) => ({ portId, vlans: isolated })));
  expect(await connection.readPorts(ports)).toEqual(ports.map((portId) => ({ portId, vlans: isolated })));
  expect(await modesNow()).toEqual(['access', 'trunk', undefined]);
});
