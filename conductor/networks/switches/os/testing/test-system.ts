import { describe } from 'vitest';
import type { BondAbilities } from '#conductor/networks/switch-driver.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { type SwitchUnderTest, testSwitchDriver } from '#conductor/networks/switches/switch.contract.ts';
import type { SwitchServer } from '#test/simulators/switch/switch-server.ts';
import { accessTo, cutsOf, split } from '#test/simulators/switch/under-test.ts';

/** Makes 48 ports, of which the last is a bond. */
export const ports48 = (form: (number: number) => string, bond: string) => [
  ...Array.from({ length: 47 }, (_, index) => form(index + 1)),
  bond,
];

export function testSystem<Switch extends SwitchServer>(
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
  // each has a switch of its own: they wait side by side for what their dialogues leave quiet, each in its own order
  describe.concurrent(`${name}, beside the others`, () => {
    describe('in order', { concurrent: false }, () => {
      testSwitchDriver(name, start48, bonds);
    });
  });
}
