import type { RedfishClient } from '#conductor/drivers/redfish/client.ts';
import { type Resource, readResource } from '#conductor/drivers/redfish/resource.ts';
import { Collection, ComputerSystem, ServiceRoot } from '#conductor/drivers/redfish/schemas.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** One ComputerSystem behind one BMC. */
export interface RedfishSystem {
  readonly client: RedfishClient;
  readonly clock: Clock;
  path(signal: AbortSignal): Promise<string>;
  read(signal: AbortSignal): Promise<Resource<ComputerSystem>>;
}

/** `configuredPath` is `redfish_system_id`; without it the BMC must have exactly one system. */
export function redfishSystem(client: RedfishClient, clock: Clock, configuredPath: string | undefined): RedfishSystem {
  let found = configuredPath;
  const path = async (signal: AbortSignal): Promise<string> => {
    found ??= await findOnlySystem(client, signal);
    return found;
  };
  return {
    client,
    clock,
    path,
    read: async (signal) => {
      const systemPath = await path(signal);
      const resource = await readResource(client, systemPath, ComputerSystem, signal);
      return resource;
    },
  };
}

async function findOnlySystem(client: RedfishClient, signal: AbortSignal): Promise<string> {
  const root = await readResource(client, '/redfish/v1/', ServiceRoot, signal);
  const path = root.data.Systems?.['@odata.id'] ?? '/redfish/v1/Systems';
  const { data } = await readResource(client, path, Collection, signal);
  const systems = data.Members.map((member) => member['@odata.id']);
  const [only] = systems;
  if (only !== undefined && systems.length === 1) return only;
  throw new AppError(
    'invalid_argument',
    `driver_info needs redfish_system_id: ${client.origin} has ${systems.length === 0 ? 'no systems' : `these systems: ${systems.join(', ')}`}`,
  );
}
