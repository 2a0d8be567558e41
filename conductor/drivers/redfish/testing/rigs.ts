import { afterEach } from 'vitest';
import type { HardwareType } from '#conductor/drivers/driver-definition.ts';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import { type RedfishOptions, redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { type Clock, systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { createMemoryMachine, type MemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';

const username = 'admin';
const password = 'open sesame';

/** A clock that waits for nothing, and whose time goes on all the same. */
export function createInstantClock(): Clock {
  let ms = Date.now();
  return {
    now: () => new Date(ms),
    sleep: (forMs, signal) => {
      signal?.throwIfAborted();
      ms += forMs;
      return Promise.resolve();
    },
  };
}

/** A simulated BMC of one machine, and the driver's connection to it. */
export interface Rig extends Bmc {
  readonly machine: MemoryMachine;
  readonly simulator: RedfishSimulator;
  readonly type: HardwareType;
  /** Fields of `driver_info` that lead to the BMC. */
  readonly login: Readonly<Record<string, string>>;
  readonly isOn: () => Promise<boolean>;
  close(): Promise<void>;
}

interface RigOptions {
  readonly quirks?: Partial<Quirks>;
  readonly driverInfo?: Readonly<Record<string, unknown>>;
  readonly redfish?: RedfishOptions;
  readonly clock?: Clock;
  readonly caDirectory?: string;
  /** MAC addresses of the machine's network cards. */
  readonly macs?: readonly string[];
}

/** For drivers that give a BMC seconds. */
export const hastyClock: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 5), signal) };

/** Makes rigs that end with the test in which they were made; `open` are those that have not. */
export function createRigs(): { readonly rig: (options?: RigOptions) => Promise<Rig>; readonly open: Set<Rig> } {
  const open = new Set<Rig>();

  async function rig(options: RigOptions = {}): Promise<Rig> {
    const machine = createMemoryMachine();
    const simulator = await startRedfishSimulator({
      machine,
      username,
      password,
      quirks: options.quirks ?? {},
      macs: options.macs ?? [],
    });
    const type = redfishHardwareType(
      {
        run,
        log: silentLog,
        ...(options.clock ? { clock: options.clock } : {}),
        ...(options.caDirectory === undefined ? {} : { caDirectory: options.caDirectory }),
      },
      { retryMs: 5, timings: { pollMs: 5, resendAfterMs: 100 }, ...options.redfish },
    );
    const login = { redfish_address: simulator.address, redfish_username: username, redfish_password: password };
    const bmc = type.connect({ ...login, ...options.driverInfo });
    const made: Rig = {
      ...bmc,
      machine,
      simulator,
      type,
      login,
      isOn: async () => (await machine.getPower()) === 'on',
      close: async () => {
        open.delete(made);
        await type.close?.();
        await simulator.close();
      },
    };
    open.add(made);
    return made;
  }

  afterEach(async () => {
    for (const each of open) await each.close();
  });
  return { rig, open };
}
