import type { BondAbilities } from '#conductor/networks/switch-driver.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { type SwitchUnderTest, testSwitchDriver } from '#conductor/networks/switches/switch.contract.ts';
import { startEosSwitch } from '#test/simulators/switch/eos.ts';
import { startJunosSwitch } from '#test/simulators/switch/junos.ts';
import {
  freshCumulus,
  freshLinux,
  freshSonic,
  type ProgramSwitch,
  startProgramSwitch,
} from '#test/simulators/switch/program-switch.ts';
import type { SwitchServer } from '#test/simulators/switch/switch-server.ts';
import { startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';
import { accessTo, cutsOf, split } from '#test/simulators/switch/under-test.ts';

/** Of which the last is a bond. */
const ports48 = (form: (number: number) => string, bond: string) => [
  ...Array.from({ length: 47 }, (_, index) => form(index + 1)),
  bond,
];

function testSystem<Switch extends SwitchServer>(
  name: string,
  ports: readonly string[],
  start: () => Promise<Switch>,
  setByHand: (simulated: Switch, port: string, vlan: number) => unknown,
  bonds?: BondAbilities,
  trunkNeedsUntagged?: boolean,
): void {
  const start48 = async (): Promise<SwitchUnderTest> => {
    const simulated = await start();
    return {
      driver: findSwitchDriver(name),
      access: accessTo(simulated),
      ...split(ports),
      setByHand: async (port, vlan) => void (await setByHand(simulated, port, vlan)),
      cutAt: cutsOf(simulated),
      trunkNeedsUntagged,
      deadEndpoint: 'ssh:127.0.0.1:1',
      stop: () => simulated.stop(),
    };
  };
  testSwitchDriver(name, start48, bonds);
}

function testPrograms(
  name: string,
  ports: readonly string[],
  fresh: (ports: readonly string[]) => unknown,
  byHand: (port: string, vlan: number) => readonly string[],
  bonds?: BondAbilities,
): void {
  testSystem<ProgramSwitch>(
    name,
    ports,
    () => startProgramSwitch(fresh(ports)),
    (simulated, port, vlan) => simulated.shell(byHand(port, vlan).join('\n')),
    bonds,
  );
}

testPrograms(
  'linux',
  ports48((number) => `swp${number}`, 'bond48'),
  freshLinux,
  (port, vlan) => [
    "bridge -batch - <<'END'",
    `vlan del dev ${port} vid 1-4094`,
    `vlan add dev ${port} vid ${vlan} pvid untagged`,
    'END',
  ],
);

testPrograms(
  'sonic',
  ports48((number) => `Ethernet${4 * (number - 1)}`, 'PortChannel48'),
  freshSonic,
  (port, vlan) => [
    `config vlan add ${vlan}`,
    `for old in $(sonic-db-cli CONFIG_DB keys 'VLAN_MEMBER|*|${port}' | tr -d A-Za-z_ | cut -d'|' -f2); do config vlan member del $old ${port}; done`,
    `config vlan member add -u ${vlan} ${port}`,
  ],
  { modes: ['lacp'], pairs: false },
);

testPrograms(
  'cumulus',
  ports48((number) => `swp${number}`, 'bond48'),
  freshCumulus,
  (port, vlan) => [
    `nv unset interface ${port} bridge`,
    `nv set interface ${port} bridge domain br_default access ${vlan}`,
    'nv config apply -y',
  ],
  { modes: ['lacp', 'static'], pairs: true },
);

const eosPorts = ports48((number) => `Ethernet${number}`, 'Port-Channel48');
testSystem(
  'eos',
  eosPorts,
  () => startEosSwitch({ ports: eosPorts, vlans: [1] }),
  (simulated, port, vlan) =>
    simulated.configure(`interface ${port}`, 'switchport mode access', `switchport access vlan ${vlan}`),
  { modes: ['lacp', 'static'], pairs: true },
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
  { modes: ['lacp', 'static'], pairs: false },
);

for (const system of textSystems) {
  testSystem(
    system.name,
    ports48(system.port, system.port(48)),
    () => startTextSwitch(system),
    (simulated, port, vlan) => simulated.configure(`interface ${port}`, ...system.byHand(vlan)),
    { modes: ['lacp', 'static'], pairs: system.name !== 'ios-xe' },
    system.name === 'os10',
  );
}
