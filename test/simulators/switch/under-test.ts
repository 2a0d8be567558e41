import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import type { ServedSwitch } from '#test/simulators/switch/switch-server.ts';

/** A simulated switch as the contract suite takes it. */

export const accessTo = ({ access }: ServedSwitch): SwitchAccess => access;

export function cutsOf({ faults }: ServedSwitch) {
  return (command: number, done: boolean) => {
    faults.cutAt = { command, done };
    return () => {
      const wasCut = faults.cutAt === undefined;
      faults.cutAt = undefined;
      return wasCut;
    };
  };
}

export function split([first = '', second = '', third = '', ...morePorts]: readonly string[]) {
  return { portIds: [first, second, third] as const, morePorts };
}
