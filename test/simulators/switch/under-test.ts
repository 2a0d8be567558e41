import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import type { SwitchServer } from '#test/simulators/switch/switch-server.ts';

/** A simulated switch as the contract suite takes it. */

export const accessTo = ({ endpoint, hostKey, username, password }: SwitchServer): SwitchAccess => ({
  endpoint,
  login: { username, password: async () => password, hostKey },
  createVlans: true,
});

export function cutsOf({ faults }: SwitchServer) {
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
