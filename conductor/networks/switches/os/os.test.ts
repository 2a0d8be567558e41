import { ports48, testSystem } from '#conductor/networks/switches/os/testing/test-system.ts';
import { startEosSwitch } from '#test/simulators/switch/eos.ts';
import { startJunosSwitch } from '#test/simulators/switch/junos.ts';
import { startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';

const eosPorts = ports48((number) => `Ethernet${number}`, 'Port-Channel48');
testSystem(
  'eos',
  eosPorts,
  () => startEosSwitch({ ports: eosPorts, vlans: [1] }),
  (simulated, port, vlan) =>
    simulated.configure(`interface ${port}`, 'switchport mode access', `switchport access vlan ${vlan}`),
  { modes: ['lacp', 'static'], pairs: ['lacp', 'static'] },
);

const junosPorts = ports48((number) => `ge-0/0/${number - 1}`, 'ae48');
testSystem(
  'junos',
  junosPorts,
  () => startJunosSwitch(junosPorts),
  (simulated, port, vlan) => {
    const switching = `interfaces ${port} unit 0 family ethernet-switching`;
    simulated.configure(
      `delete ${switching}`,
      `set ${switching} interface-mode access`,
      `set ${switching} vlan members ${vlan}`,
    );
  },
  { modes: ['lacp', 'static'], pairs: ['lacp'] },
);

for (const system of textSystems) {
  testSystem(
    system.name,
    ports48(system.port, system.port(48)),
    () => startTextSwitch(system),
    (simulated, port, vlan) => simulated.configure(`interface ${port}`, ...system.byHand(vlan)),
    { modes: ['lacp', 'static'], pairs: system.name === 'ios-xe' ? [] : ['lacp', 'static'] },
    system.name === 'os10',
  );
}
