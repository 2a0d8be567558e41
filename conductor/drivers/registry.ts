import { checkBmcAddress } from '#conductor/drivers/bmc-address.ts';
import { type FakeOptions, fakeHardwareType } from '#conductor/drivers/fake/fake.ts';
import type { Bmc, DriverContext, HardwareType } from '#conductor/drivers/interfaces.ts';
import { type IpmiOptions, ipmiHardwareType } from '#conductor/drivers/ipmi/ipmi.ts';
import { type RedfishOptions, redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { withLogging } from '#conductor/drivers/with-logging.ts';
import type { Metrics } from '#conductor/kernel/metrics/metrics.ts';
import { hideSecrets } from '#conductor/kernel/secrets/hide-secrets.ts';
import { nodeSecretTexts, openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Limits and faults for tests and labs; the defaults are for real hardware. */
export interface DriverOptions {
  readonly redfish?: RedfishOptions;
  readonly ipmi?: IpmiOptions;
  readonly fake?: FakeOptions;
}

/** What of a node a driver needs. */
interface ConnectedNode {
  readonly uuid: string;
  readonly driver: string;
  /** Its secrets sealed. */
  readonly driverInfo: JsonObject;
}

/** The hardware types of one conductor, with whatever they share behind them. */
export interface Drivers {
  readonly hardwareTypes: readonly HardwareType[];
  /**
   * Opens the node's secrets for its BMC's driver; what the BMC says comes back without them.
   * `about` stands in each log line of a call: `node`, and within a flow `flow` and `step`.
   * @throws AppError `not_found`, or `invalid_argument` naming each bad driver_info property.
   */
  connect(node: ConnectedNode, about?: Readonly<Record<string, string>>): Bmc;
  /** Ends sessions at BMCs. */
  close(): Promise<void>;
}

/** THE table of hardware types; each has a folder of its own. */
export function createDrivers(
  context: DriverContext & {
    readonly secrets: Secrets;
    readonly metrics?: Pick<Metrics, 'bmcSeconds' | 'bmcErrors'>;
  },
  options: DriverOptions = {},
): Drivers {
  const { secrets } = context;
  const hardwareTypes = [
    redfishHardwareType(context, options.redfish),
    ipmiHardwareType(context, options.ipmi),
    fakeHardwareType(options.fake),
  ];
  const hardwareType = (name: string): HardwareType => {
    const found = hardwareTypes.find((type) => type.name === name);
    if (found) return found;
    const known = hardwareTypes.map((type) => type.name).join(', ');
    throw new AppError('not_found', `driver ${name} is not known; it must be one of ${known}`);
  };
  return {
    hardwareTypes,
    connect: ({ driver, ...node }, about = {}) => {
      if (context.outbound) checkBmcAddress(node.driverInfo, context.outbound);
      return withLogging(hardwareType(driver).connect(openNodeDocument(secrets, node, 'driverInfo')), {
        log: context.log.child({ driver, ...about }),
        hide: hideSecrets(() => nodeSecretTexts(secrets, node)),
        ended: (call, code, seconds) => {
          context.metrics?.bmcSeconds.observe(
            { driver, call, outcome: code === undefined ? 'done' : 'failed' },
            seconds,
          );
          if (code !== undefined) context.metrics?.bmcErrors.inc({ driver, call, code });
        },
      });
    },
    close: async () => {
      for (const type of hardwareTypes) await type.close?.();
    },
  };
}
