import type { BmcSession, LeftSession } from '#conductor/drivers/bmc-session.ts';
import type { OnSilent } from '#conductor/drivers/bmc-silence.ts';
import type { DriverContext, DriverDefinition, HardwareType } from '#conductor/drivers/driver-definition.ts';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import { checkBmcAddress } from '#conductor/drivers/table/bmc-address.ts';
import { drivers, driverTable } from '#conductor/drivers/table/driver-table.ts';
import { withHeldPower } from '#conductor/drivers/with-held-power.ts';
import { withLogging } from '#conductor/drivers/with-logging.ts';
import type { Metrics } from '#conductor/kernel/metrics/metrics.ts';
import { nodeSecretTexts, openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { PowerHold, PowerState } from '#conductor/model/power-and-boot.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce, type RunInTurn } from '#shared/in-parallel.ts';
import { hideSecrets } from '#shared/secret-words.ts';

type DriverTable = typeof driverTable;

/** Limits and faults for tests and labs, by folder; the defaults are for real hardware. */
export type DriverOptions = {
  readonly [Folder in keyof DriverTable]?: NonNullable<Parameters<DriverTable[Folder]['open']>[1]>;
};

/** Fields of a node that a driver needs. */
interface ConnectedNode {
  readonly uuid: string;
  readonly driver: string;
  /** Its secrets sealed. */
  readonly driverInfo: JsonObject;
  readonly powerHold: PowerHold | null;
  /** Power state on record; absent = nothing is known of it. */
  readonly powerState?: PowerState | null;
}

/** The hardware types of one conductor, with whatever they share behind them. */
export interface Drivers {
  readonly hardwareTypes: readonly DriverDefinition[];
  /**
   * Opens the node's secrets for its BMC's driver; what the BMC says comes back without them.
   * `about` stands in each log line of a call: `node`, and within a flow `flow` and `step`.
   * `onSilent` is called for each request that the BMC does not answer for a while.
   * While the node's power is held, every call that would switch it throws `power_held`.
   * @throws AppError `not_found`, or `invalid_argument` naming each bad driver_info property.
   */
  connect(node: ConnectedNode, about?: Readonly<Record<string, string>>, onSilent?: OnSilent): Bmc;
  /** Ends a session that a conductor has left at a BMC, by the login of a node behind it that was reached from here. */
  endLeft(session: BmcSession, signal: AbortSignal): Promise<LeftSession>;
  /** Ends sessions at BMCs. */
  close(): Promise<void>;
}

/** BMCs that are inspected at the same time: each costs dozens of requests, and a thousand may be asked for at once. */
const inspectedAtOnce = 32;

function withTurns(bmc: Bmc, inTurn: RunInTurn): Bmc {
  const { inspection } = bmc;
  if (!inspection) return bmc;
  // the limit of the call begins with its turn
  const readMachine: typeof inspection.readMachine = (options) =>
    inTurn(() => inspection.readMachine(options), options?.signal);
  return { ...bmc, inspection: { readMachine } };
}

/** Opens every driver of the table. */
export function createDrivers(
  context: DriverContext & {
    readonly secrets: Secrets;
    readonly metrics?: Pick<Metrics, 'bmcSeconds' | 'bmcErrors'>;
  },
  options: DriverOptions = {},
): Drivers {
  const { secrets } = context;
  const opened = new Map<string, HardwareType>();
  const optionsOf: Readonly<Record<string, object | undefined>> = options;
  for (const [folder, driver] of Object.entries<DriverDefinition>(driverTable)) {
    opened.set(driver.name, driver.open(context, optionsOf[folder]));
  }
  const inspectInTurn = limitAtOnce({ most: inspectedAtOnce });
  /** Which driver each node had last. */
  const driverOf = new Map<string, string>();
  const follow = (uuid: string, driver: string): void => {
    const before = driverOf.get(uuid);
    if (before !== undefined && before !== driver) opened.get(before)?.leave?.(uuid);
    driverOf.set(uuid, driver);
  };
  const hardwareType = (name: string): HardwareType => {
    const found = opened.get(name);
    if (found) return found;
    const known = [...opened.keys()].join(', ');
    throw new AppError('not_found', `driver ${name} is not known; it must be one of ${known}`);
  };
  return {
    hardwareTypes: drivers,
    connect: ({ driver, powerHold, ...node }, about = {}, onSilent) => {
      if (context.outbound) checkBmcAddress(node.driverInfo, context.outbound);
      follow(node.uuid, driver);
      const stored = { uuid: node.uuid, powerState: node.powerState ?? null };
      const bmc = withLogging(hardwareType(driver).connect(openNodeDocument(secrets, node, 'driverInfo'), stored), {
        log: context.log.child({ driver, ...about }),
        hide: hideSecrets(() => nodeSecretTexts(secrets, node)),
        onSilent,
        ended: (call, code, seconds) => {
          context.metrics?.bmcSeconds.observe(
            { driver, call, outcome: code === undefined ? 'done' : 'failed' },
            seconds,
          );
          if (code !== undefined) context.metrics?.bmcErrors.inc({ driver, call, code });
        },
      });
      const asking = withTurns(bmc, inspectInTurn);
      return powerHold === null ? asking : withHeldPower(asking, powerHold, context.clock ?? systemClock);
    },
    endLeft: async (session, signal) => {
      let outcome: LeftSession = 'unreached';
      for (const type of opened.values()) {
        if (!type.endLeft) continue;
        const found = await type.endLeft(session, signal);
        if (found === 'ended') return found;
        if (found === 'refused') outcome = found;
      }
      return outcome;
    },
    close: async () => {
      for (const type of opened.values()) await type.close?.();
    },
  };
}
