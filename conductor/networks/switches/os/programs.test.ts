import type { BondAbilities } from '#conductor/networks/switch-driver.ts';
import { ports48, testSystem } from '#conductor/networks/switches/os/testing/test-system.ts';
import {
  freshCumulus,
  freshLinux,
  freshSonic,
  type ProgramSwitch,
  startProgramSwitch,
} from '#test/simulators/switch/program-switch.ts';

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
  { modes: ['lacp', 'static'], pairs: [] },
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
  { modes: ['lacp'], pairs: ['lacp'] },
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
  { modes: ['lacp', 'static'], pairs: ['lacp', 'static'] },
);
