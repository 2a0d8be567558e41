import { expect, onTestFinished, test } from 'vitest';
import { isolated, portVlans } from '#conductor/model/port-vlans.ts';
import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { freshSonic, startProgramSwitch } from '#test/simulators/switch/program-switch.ts';
import { accessTo } from '#test/simulators/switch/under-test.ts';

/** SONiC refuses to remove a VLAN that still has members. */
async function startSonic(uplinks: readonly string[]) {
  const ports = ['Ethernet0', 'Ethernet4', 'Ethernet8', 'Ethernet-BP0'];
  const sonic = await startProgramSwitch(freshSonic(ports));
  const kept: [readonly number[], string][] = [];
  const access: SwitchAccess = {
    ...accessTo(sonic),
    removeVlans: true,
    uplinks,
    onVlansKept: (vlans, error) => kept.push([vlans, errorChain(error)]),
  };
  const connection = findSwitchDriver('sonic').connect(access);
  onTestFinished(async () => {
    await connection.close();
    await sonic.stop();
  });
  const both = (first?: number, second?: number) => [
    { portId: 'Ethernet0', vlans: first === undefined ? isolated : portVlans(first) },
    { portId: 'Ethernet4', vlans: second === undefined ? isolated : portVlans(second) },
  ];
  const vlans = async () => Object.keys(((await sonic.read()) as { VLAN: object }).VLAN);
  await connection.apply([{ portId: 'Ethernet8', vlans: isolated }, ...both(777, 778)]);
  return { sonic, connection, kept, both, vlans };
}

test('the last port leaves a VLAN that an uplink carries, where the switch would have to take that out first', async () => {
  const { sonic, connection, kept, both, vlans } = await startSonic(['Ethernet8']);
  await sonic.shell('config vlan member add 777 Ethernet8');
  await connection.apply(both());
  expect((await connection.readPorts(['Ethernet0', 'Ethernet4'])).map((each) => each.vlans)).toEqual([
    isolated,
    isolated,
  ]);
  expect(await vlans()).toEqual(['Vlan999', 'Vlan777']);
  expect(kept).toEqual([]);
});

test('a VLAN that the switch refuses to remove keeps no port in it and no other VLAN, and goes later', async () => {
  const { sonic, connection, kept, both, vlans } = await startSonic([]);
  // no port that Baton knows
  await sonic.shell('config vlan member add 777 Ethernet-BP0');
  await connection.apply(both());
  expect(await connection.readPorts(['Ethernet0'])).toMatchObject([{ vlans: isolated }]);
  expect(await vlans()).toEqual(['Vlan999', 'Vlan777']);
  expect(kept).toEqual([[[777], expect.stringContaining('First remove all members')]]);
  await sonic.shell('config vlan member del 777 Ethernet-BP0');
  await connection.apply(both());
  expect(await vlans()).toEqual(['Vlan999']);
});
