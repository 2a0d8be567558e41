import { commandLineDriver } from '#conductor/networks/switches/command-line/command-line-driver.ts';
import { acme } from '#conductor/networks/switches/os/testing/acme.ts';
import { testSwitchDriver } from '#conductor/networks/switches/switch.contract.ts';
import { startTextSwitch, type TextSystem } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';
import { cutsOf, split } from '#test/simulators/switch/under-test.ts';

/** The example of an operating system passes the contract. */

const named = (wanted: string): TextSystem => {
  const system = textSystems.find(({ name }) => name === wanted);
  if (!system) throw new Error(`no simulated ${wanted}`);
  return system;
};
const nxos = named('nxos');
const system: TextSystem = {
  ...nxos,
  name: 'acme',
  port: (number) => `eth${number}`,
  interfaces: (command) => /^interface (eth\d+)$/.exec(command)?.slice(1),
  show: (command, config) => {
    if (command === 'show vlan') return nxos.show('show vlan brief', config, false);
    // with what is so by itself
    return command === 'show running-config'
      ? named('os10').show('show running-configuration interface', config, false)
      : undefined;
  },
  save: 'write memory',
};
const ports = Array.from({ length: 48 }, (_, index) => system.port(index + 1));

testSwitchDriver('the example', async () => {
  const simulated = await startTextSwitch(system);
  return {
    driver: commandLineDriver(acme),
    access: simulated.access,
    ...split(ports),
    setByHand: async (port, vlan) => simulated.configure(`interface ${port}`, ...system.byHand(vlan)),
    cutAt: cutsOf(simulated),
    deadEndpoint: 'ssh:127.0.0.1:1',
    stop: () => simulated.stop(),
  };
});
