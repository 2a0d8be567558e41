import type { SimulatedBios } from '#test/simulators/redfish/bios.ts';
import type { SimulatedSubscriptions } from '#test/simulators/redfish/event-service.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import type { SimulatedBoot, SimulatedMachine } from '#test/simulators/redfish/machine.ts';
import type { SystemPowerState } from '#test/simulators/redfish/resources.ts';
import type { SimulatedStorage } from '#test/simulators/redfish/storage.ts';
import type { SimulatedFirmware } from '#test/simulators/redfish/update-service.ts';
import type { SimulatedMedia } from '#test/simulators/redfish/virtual-media.ts';

export interface ServiceRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** Counts of what happened since the start. */
export interface Counters {
  requests: number;
  logins: number;
  logouts: number;
  powerChanges: number;
  bootChanges: number;
  nmis: number;
  bmcResets: number;
  /** Resets of the machine while firmware was written, volumes made or BIOS settings taken; of the BMC amid a flash. */
  resetsAmidWork: number;
}

export interface ServiceOptions {
  readonly machine: SimulatedMachine;
  readonly username: string;
  readonly password: string;
  readonly quirks: Quirks;
  readonly counters: Counters;
  /** Whether Secure Boot is on at first; default off. */
  readonly secureBoot?: boolean;
  /** MAC addresses of the machine's network cards; default none. */
  readonly macs?: readonly string[];
}

/** State that a BMC has in memory. */
export interface ServiceState extends Omit<ServiceOptions, 'secureBoot'> {
  readonly sessions: Map<string, string>;
  readonly tasks: Map<
    string,
    { polls: number; readonly failed: boolean; shown?: 'Pending' | 'Running'; isForgotten?: boolean }
  >;
  /** Ids of tasks of changed BIOS settings, which begin at the machine's reset. */
  readonly biosTasks: Set<string>;
  /** Paths that the requests of tasks went to, by the task's id. */
  readonly taskTargets: Map<string, string>;
  readonly bios: SimulatedBios;
  readonly storage: SimulatedStorage;
  readonly firmware: SimulatedFirmware;
  /** How many volumes are made, and boots take BIOS settings, now. */
  readonly atWork: { count: number };
  readonly subscriptions: SimulatedSubscriptions;
  pendingBoot: SimulatedBoot | undefined;
  secureBoot: boolean;
  secureBootKeys: 'maker' | 'none';
  /** Clock as it was set, ISO 8601. */
  clock: string | undefined;
  /** Lamps that are not off, by path: `Lit`, `Blinking`. */
  readonly lamps: Map<string, string>;
  readonly media: SimulatedMedia;
  transition: { readonly until: number; readonly shown: SystemPowerState } | undefined;
}
