import { expect, onTestFinished, test } from 'vitest';
import { isolated, portVlans } from '#conductor/model/port-vlans.ts';
import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import { commandLineDriver } from '#conductor/networks/switches/command-line/command-line-driver.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { eos } from '#conductor/networks/switches/os/eos.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { startEosApi, startEosSwitch } from '#test/simulators/switch/eos.ts';
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

test('of a transaction that is refused for one VLAN the others go alone, and nothing is left open', async () => {
  const simulated = await startEosSwitch({ ports: ['Ethernet1', 'Ethernet2'], vlans: [1] });
  const refused: number[] = [];
  const lines = (vlan: number): string[] => [`${vlan === 777 ? 'not' : 'no'} vlan ${vlan}`];
  const driver = commandLineDriver({ ...eos, ...(eos.removeVlan ? { removeVlan: { ...eos.removeVlan, lines } } : {}) });
  const onVlansKept = (vlans: readonly number[]) => void refused.push(...vlans);
  const connection = driver.connect({ ...accessTo(simulated), removeVlans: true, onVlansKept });
  onTestFinished(async () => {
    await connection.close();
    await simulated.stop();
  });
  const to = (...vlans: (number | undefined)[]) =>
    vlans.map((vlan, index) => ({ portId: `Ethernet${index + 1}`, vlans: vlan ? portVlans(vlan) : isolated }));
  await connection.apply(to(777, 778));
  await connection.apply(to(undefined, undefined));
  expect(await connection.readPorts(['Ethernet1', 'Ethernet2'])).toEqual(to(undefined, undefined));
  const { running, sessions, timer } = simulated.state;
  expect([...running.keys()].filter((name) => name.startsWith('vlan '))).toEqual(['vlan 1', 'vlan 777']);
  expect([[...sessions.values()].filter(({ state }) => state !== 'completed'), timer]).toEqual([[], undefined]);
  expect(refused).toEqual([777]);
});

test.each([
  ['SSH', startEosSwitch],
  ['HTTPS', startEosApi],
])('a VLAN that somebody else puts a port into while the change is proved stays, over %s', async (_, startSwitch) => {
  const simulated = await startSwitch({ ports: ['Ethernet1', 'Ethernet2'], vlans: [1] });
  let confirmed = (): void => undefined;
  const { transaction } = eos;
  if (!transaction) throw new Error('a change is proved before it is confirmed');
  const confirm = (name: string): readonly string[] => {
    confirmed();
    return transaction.confirm(name);
  };
  const driver = commandLineDriver({ ...eos, transaction: { ...transaction, confirm } });
  const connection = driver.connect({ ...accessTo(simulated), removeVlans: true });
  onTestFinished(async () => {
    await connection.close();
    await simulated.stop();
  });
  const to = (portId: string, vlan?: number) => ({ portId, vlans: vlan ? portVlans(vlan) : isolated });
  await connection.apply([to('Ethernet1', 777), to('Ethernet2')]);
  confirmed = () =>
    simulated.configure('interface Ethernet2', 'switchport', 'switchport mode access', 'switchport access vlan 777');
  await connection.apply([to('Ethernet1')]);
  expect(await connection.readPorts(['Ethernet1', 'Ethernet2'])).toEqual([to('Ethernet1'), to('Ethernet2', 777)]);
  expect(simulated.state.running.has('vlan 777')).toBe(true);
});
