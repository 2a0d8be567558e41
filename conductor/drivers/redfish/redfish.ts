import { createHash } from 'node:crypto';
import type { LeftSession } from '#conductor/drivers/bmc-session.ts';
import type { DriverContext, DriverDefinition, HardwareType } from '#conductor/drivers/driver-definition.ts';
import type { ManagementInterface } from '#conductor/drivers/interfaces.ts';
import { redfishBios } from '#conductor/drivers/redfish/bios/bios.ts';
import { redfishFirmwareBoot, redfishManagement } from '#conductor/drivers/redfish/boot.ts';
import {
  createRedfishClient,
  type RedfishClient,
  type RedfishClientOptions,
} from '#conductor/drivers/redfish/client/client.ts';
import {
  checkRedfishDocument,
  parseRedfishDriverInfo,
  type RedfishConnection,
  redfishFieldFault,
  redfishFields,
  redfishMachine,
} from '#conductor/drivers/redfish/client/driver-info.ts';
import { type KnownSystem, type RedfishSystem, redfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { redfishConsole } from '#conductor/drivers/redfish/console.ts';
import { redfishEvents } from '#conductor/drivers/redfish/events.ts';
import { redfishFirmware } from '#conductor/drivers/redfish/firmware.ts';
import { redfishEventLog, redfishSensors } from '#conductor/drivers/redfish/hardware.ts';
import { redfishIndicators } from '#conductor/drivers/redfish/indicators.ts';
import { redfishInspection } from '#conductor/drivers/redfish/inspection/inspection.ts';
import { endLeftSession } from '#conductor/drivers/redfish/left-session.ts';
import { redfishVirtualMedia } from '#conductor/drivers/redfish/media/virtual-media.ts';
import { type PowerTimings, redfishPower } from '#conductor/drivers/redfish/power.ts';
import { redfishRaid } from '#conductor/drivers/redfish/raid/raid.ts';
import { redfishRecorder } from '#conductor/drivers/redfish/record.ts';
import { shareClients } from '#conductor/drivers/redfish/shared-clients.ts';
import { systemClock } from '#shared/clock.ts';

export interface RedfishOptions
  extends Partial<Pick<RedfishClientOptions, 'answerMs' | 'connectMs' | 'attempts' | 'retryMs'>> {
  readonly timings?: PowerTimings;
}

/** A client with what is known of its BMC. */
type SharedClient = RedfishClient & { readonly known: KnownSystem };

/** The `redfish` hardware type; its interfaces' names are those that metal3 enrolls a host with. */
export const redfishDriver: DriverDefinition<RedfishOptions> = {
  name: 'redfish',
  fields: redfishFields,
  fieldFault: redfishFieldFault,
  bmc: { address: 'redfish_address', username: 'redfish_username', password: 'redfish_password' },
  interfaces: {
    bios: ['redfish', 'no-bios'],
    boot: ['ipxe', 'pxe', 'redfish-virtual-media', 'http', 'http-ipxe'],
    console: ['no-console', 'redfish-serial'],
    firmware: ['redfish', 'no-firmware'],
    inspect: ['agent', 'redfish', 'no-inspect'],
    management: ['redfish'],
    power: ['redfish'],
    raid: ['agent', 'redfish', 'no-raid'],
    vendor: ['redfish', 'no-vendor'],
  },
  site: { types: ['redfish'], check: checkRedfishDocument, machine: redfishMachine },
  open: redfishHardwareType,
};

/**
 * One session per BMC and account is shared by all calls.
 * @param vendors what a vendor's driver has beyond it
 */
export function redfishHardwareType(
  context: DriverContext,
  options: RedfishOptions = {},
  vendors: (system: RedfishSystem) => Partial<ManagementInterface> = () => ({}),
): HardwareType {
  const { clock = systemClock, log, outbound, sessions } = context;
  // only the session: a call may be under way, and its connections end when idle
  const clients = shareClients<SharedClient>((client) => void logged(client, client.endSession(), context));
  const clientFor = (connection: RedfishConnection, node: string | undefined): SharedClient => {
    const { origin, username } = connection;
    const identity = { key: clientKey(connection), origin, account: `${username} ${origin}`, node };
    // BMCs have room for few sessions, and the password that was taken is the account's now
    const loggedIn = (): void => clients.keepAlone(identity);
    return clients.find(identity, () => ({
      ...createRedfishClient(connection, { ...options, clock, log, outbound, loggedIn, sessions }),
      known: {},
    }));
  };
  return {
    leave: clients.leave,
    endLeft: async (session, signal) => {
      let outcome: LeftSession = 'unreached';
      // another account of the same BMC may be let
      for (const client of clients.at(session.origin)) {
        if (!client.hasAnswered()) continue;
        outcome = await endLeftSession(client, session, signal);
        if (outcome === 'ended') break;
      }
      return outcome;
    },
    connect: (driverInfo, stored) => {
      const connection = parseRedfishDriverInfo(driverInfo, context.caDirectory);
      const client = clientFor(connection, stored?.uuid);
      const { known } = client;
      const system = redfishSystem(client, { clock, configuredPath: connection.systemPath, known });
      return {
        power: redfishPower(system, options.timings),
        management: {
          ...redfishManagement(system),
          ...redfishSensors(system),
          ...redfishEventLog(system),
          ...vendors(system),
        },
        bios: redfishBios(system),
        console: redfishConsole(system, { connection, outbound }),
        events: redfishEvents(system),
        firmware: redfishFirmware(system),
        indicators: redfishIndicators(system),
        inspection: redfishInspection(system),
        firmwareBoot: redfishFirmwareBoot(system),
        raid: redfishRaid(system),
        recorder: redfishRecorder(client),
        virtualMedia: redfishVirtualMedia(system, connection.mediaTrust),
      };
    },
    close: async () => {
      await Promise.all(clients.takeAll().map((client) => logged(client, client.close(), context)));
    },
  };
}

function logged(client: RedfishClient, ending: Promise<void>, context: DriverContext): Promise<void> {
  return ending.catch((error: unknown) => {
    context.log.warn({ err: error, bmc: client.origin }, 'Redfish client could not be closed');
  });
}

/**
 * Computes the key by which two nodes share a session: a changed password is another client. Hashed, so that it can't
 * leak.
 */
function clientKey(connection: RedfishConnection): string {
  const { origin, username, password, authType, verifyCa, minVersion, ciphers } = connection;
  return createHash('sha256')
    .update(JSON.stringify([origin, username, password, authType, verifyCa, minVersion, ciphers]))
    .digest('hex');
}
