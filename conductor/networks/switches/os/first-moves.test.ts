import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { isIsolated, isolated, portVlans } from '#conductor/model/port-vlans.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { eos } from '#conductor/networks/switches/os/eos.ts';
import { nxos } from '#conductor/networks/switches/os/nxos.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { startJunosSwitch } from '#test/simulators/switch/junos.ts';
import type { ServedSwitch } from '#test/simulators/switch/switch-server.ts';
import { startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';

/** The first move of a port on a switch as it was recorded: what is sent, and what is refused before anything is sent. */

const recordings = await readRecordings('switches', z.unknown());

function outputsOf(name: string): Readonly<Record<string, string>> {
  const [recording] = recordings.filter((each) => each.name === name);
  if (!recording) throw new Error(`no recording ${name}`);
  return recording.outputs;
}

/** A switch of text whose tables follow its lines; its configuration begins as it was recorded. */
async function beginText(name: string, also: readonly string[] = []) {
  const system = textSystems.find((each) => name.startsWith(`${each.name}/`));
  if (!system) throw new Error(`no simulator of ${name}`);
  const shown = Object.entries(outputsOf(name)).filter(([, text]) => /^interface /m.test(text));
  const simulated = await startTextSwitch(
    system,
    [1, 100],
    Object.fromEntries([...shown, ...also.map((key) => [key, outputsOf(name)[key] ?? ''])]),
  );
  return connected(system.name, simulated);
}

function connected<Switch extends ServedSwitch>(
  driver: string,
  simulated: Switch,
  connection = findSwitchDriver(driver).connect(simulated.access),
) {
  onTestFinished(async () => {
    await connection.close();
    await simulated.stop();
  });
  return { connection, simulated };
}

test.each([
  ['ios-xe/voice-vlan', 'GigabitEthernet1/0/1'],
  ['nxos/voice-vlan', 'Ethernet1/2'],
])('%s: the voice VLAN goes with the move', async (name, portId) => {
  const { connection, simulated } = await beginText(name);
  for (const vlans of [isolated, portVlans(100)]) {
    await connection.apply([{ portId, vlans }]);
    expect(await connection.readPorts([portId])).toEqual([{ portId, vlans }]);
  }
  expect(simulated.commands.filter((line) => line === 'no switchport voice vlan')).toHaveLength(1);
});

test('a Catalyst that routes at no port gets no bare `switchport`, not for a bond that is made either', async () => {
  const [system] = textSystems.filter(({ name }) => name === 'ios-xe');
  if (!system) throw new Error('no simulator of ios-xe');
  const simulated = await startTextSwitch(system, [1, 100]);
  simulated.state.isLayer2 = true;
  simulated.state.running.delete('interface Port-channel48');
  const connection = findSwitchDriver('ios-xe').connect({ ...simulated.access, bondNumbers: { from: 7, to: 7 } });
  connected('ios-xe', simulated, connection);
  const bond = { number: 7, mode: 'lacp', acrossPair: false } as const;
  const [one = '', ...both] = [1, 2, 3].map(system.port);
  for (const vlans of [isolated, portVlans(100), portVlans(100, [200])]) {
    const wanted = [
      { portId: one, vlans },
      ...both.map((portId) => ({ portId, vlans, ...(isIsolated(vlans) ? {} : { bond }) })),
    ];
    await connection.apply(wanted);
    expect(await connection.readPorts([one, ...both])).toEqual(wanted);
  }
  expect(simulated.commands).not.toContain('switchport');
});

test('junos/interface-range: a port of a range is refused with its range, and nothing is sent', async () => {
  const outputs = outputsOf('junos/interface-range');
  const { connection, simulated } = connected(
    'junos',
    await startJunosSwitch(['ge-0/0/0', 'ge-0/0/1', 'ge-0/0/11', 'ge-0/0/12'], {
      running: [],
      inherited: [],
      recorded: outputs,
    }),
  );
  await expect(connection.apply([{ portId: 'ge-0/0/1', vlans: isolated }])).rejects.toMatchObject({
    message: expect.stringMatching(/ge-0\/0\/1.*interface-range VLAN100-grp: take the port out of the range/),
  });
  expect(simulated.commands.filter((line) => line.startsWith('configure'))).toEqual([]);
});

test('aos-cx/access-ports-6000: a model that routes at no port is refused, and nothing is sent', async () => {
  const { connection, simulated } = await beginText('aos-cx/access-ports-6000', ['show interface brief']);
  await expect(connection.apply([{ portId: '1/1/1', vlans: isolated }])).rejects.toMatchObject({
    message: expect.stringContaining('the 4100i, 6000 and 6100 routes at no port'),
  });
  expect(simulated.commands.filter((line) => line.startsWith('conf'))).toEqual([]);
});

test('ports and bonds of EOS are never in one command', () => {
  const opens = eos
    .access(['Ethernet1', 'Port-Channel7', 'Ethernet3/1'], 100)
    .filter((line) => line.startsWith('interface'));
  expect(opens).toEqual(['interface Ethernet1,3/1', 'interface Port-Channel7']);
});

test('a port that the table of NX-OS alone calls the destination of a mirror is in other settings', () => {
  const table = (monitor: string) =>
    `Name: Ethernet1/1\n  Switchport: Enabled\n  Switchport Monitor: ${monitor}\n  Operational Mode: access\n  Access Mode VLAN: 100 (t)\n`;
  const read = (monitor: string) =>
    nxos.read
      .parse([
        'interface Ethernet1/1\n  switchport access vlan 100\ninterface mgmt0\n',
        table(monitor),
        '1    default   active\n',
      ])
      .ports.get('Ethernet1/1');
  expect([read('Not enabled'), read('Enabled')]).toEqual([portVlans(100), 'other']);
});
