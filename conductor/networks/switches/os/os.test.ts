import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { testSwitchDriver } from '#conductor/networks/switches/switch.contract.ts';
import { startEosSwitch } from '#test/simulators/switch/eos.ts';
import { startLinuxSwitch } from '#test/simulators/switch/linux.ts';
import type { SwitchServer } from '#test/simulators/switch/switch-server.ts';
import { startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';

const accessTo = ({ endpoint, hostKey, username, password }: SwitchServer): SwitchAccess => ({
  endpoint,
  login: { username, password: async () => password, hostKey },
  createVlans: true,
});

function cutsOf({ faults }: SwitchServer) {
  return (command: number, done: boolean) => {
    faults.cutAt = { command, done };
    return () => {
      const wasCut = faults.cutAt === undefined;
      faults.cutAt = undefined;
      return wasCut;
    };
  };
}

const numbered = (form: (number: number) => string) => Array.from({ length: 48 }, (_, index) => form(index + 1));
const split = ([first = '', second = '', third = '', ...morePorts]: string[]) => ({
  portIds: [first, second, third] as const,
  morePorts,
});

testSwitchDriver('linux', async () => {
  const ports = numbered((number) => `swp${number}`);
  const simulated = await startLinuxSwitch({ ports });
  return {
    driver: findSwitchDriver('linux'),
    access: accessTo(simulated),
    ...split(ports),
    setByHand: (port, vlan) =>
      simulated.bridge(`vlan del dev ${port} vid 1-4094`, `vlan add dev ${port} vid ${vlan} pvid untagged`),
    cutAt: cutsOf(simulated),
    deadEndpoint: 'ssh:127.0.0.1:1',
    stop: () => simulated.stop(),
  };
});

testSwitchDriver('eos', async () => {
  const ports = numbered((number) => `Ethernet${number}`);
  const simulated = await startEosSwitch({ ports, vlans: [1] });
  return {
    driver: findSwitchDriver('eos'),
    access: accessTo(simulated),
    ...split(ports),
    setByHand: async (port, vlan) =>
      simulated.configure(`interface ${port}`, 'switchport mode access', `switchport access vlan ${vlan}`),
    cutAt: cutsOf(simulated),
    deadEndpoint: 'ssh:127.0.0.1:1',
    stop: () => simulated.stop(),
  };
});

for (const system of textSystems) {
  testSwitchDriver(system.name, async () => {
    const simulated = await startTextSwitch(system);
    return {
      driver: findSwitchDriver(system.name),
      access: accessTo(simulated),
      ...split(numbered(system.port)),
      setByHand: async (port, vlan) => simulated.configure(`interface ${port}`, ...system.byHand(vlan)),
      cutAt: cutsOf(simulated),
      deadEndpoint: 'ssh:127.0.0.1:1',
      stop: () => simulated.stop(),
    };
  });
}
