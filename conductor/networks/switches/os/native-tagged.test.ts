import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { portVlans } from '#conductor/model/port-vlans.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { iosXe } from '#conductor/networks/switches/os/ios-xe.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';
import { accessTo } from '#test/simulators/switch/under-test.ts';

/** Switches that tag the native VLAN of each trunk: one with an untagged VLAN is refused before anything is sent. */

const recordings = await readRecordings('switches', z.looseObject({}));

test.each([
  ['ios-xe', 'GigabitEthernet1/0/4'],
  ['nxos', 'Ethernet1/3'],
])('%s', async (name, portId) => {
  const recording = recordings.find((each) => each.name === `${name}/native-vlan-tagged`);
  const system = textSystems.find((each) => each.name === name);
  if (!recording || !system) throw new Error('no such recording');
  const simulated = await startTextSwitch(system, [1, 100, 200], recording.outputs);
  const connection = findSwitchDriver(name).connect(accessTo(simulated));
  onTestFinished(async () => {
    await connection.close();
    await simulated.stop();
  });
  await expect(connection.apply([{ portId, vlans: portVlans(100, [200]) }])).rejects.toMatchObject({
    code: 'switch_error',
    message: expect.stringMatching(
      `port ${portId} .* can't be set to VLAN 100 with tagged 200: the switch tags the native VLAN of all trunks`,
    ),
  });
  expect(simulated.commands).not.toContain('configure terminal');
  await connection.apply([{ portId, vlans: portVlans(100) }]);
  await connection.apply([{ portId, vlans: portVlans(undefined, [100, 200]) }]);
});

const shown = (tagging: string): string =>
  `Name: Gi1/0/1\nSwitchport: Enabled\nOperational Mode: trunk\nOperational Native VLAN tagging: ${tagging}\nVoice VLAN: none\nTrunking VLANs Enabled: 100,200`;

test('a trunk of IOS that tags its native VLAN without the switch’s line is read as no other', () => {
  const config = ['native vlan 100', 'allowed vlan 100,200'].map((rest) => ` switchport trunk ${rest}`);
  const text = ['interface GigabitEthernet1/0/1', ...config, ' switchport mode trunk', 'end'].join('\n');
  const read = (tagging: string, line = '') =>
    iosXe.read.parse([`${line}\n${text}`, '1 default active', shown(tagging)]).ports.get('GigabitEthernet1/0/1');
  expect(read('disabled')).toEqual(portVlans(100, [200]));
  expect(read('enabled')).toBe('other');
  expect(read('enabled', 'vlan dot1q tag native')).toEqual(portVlans(undefined, [100, 200]));
});
