import type { RedfishClient } from '#conductor/drivers/redfish/client.ts';
import { httpStatusOf } from '#conductor/drivers/redfish/errors.ts';
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

/** What all connections to a BMC know of it; written by whoever looks. */
export interface KnownSystem {
  found?: { readonly path: string; readonly atMs: number } | undefined;
}

/** For so long the only system is still the only one: a BMC takes its time for each of the two requests that tell. */
const knownForMs = 60_000;

/** `configuredPath` is `redfish_system_id`; without it the BMC must have exactly one system. */
export function redfishSystem(
  client: RedfishClient,
  {
    clock,
    configuredPath,
    known = {},
  }: { readonly clock: Clock; readonly configuredPath: string | undefined; readonly known?: KnownSystem },
): RedfishSystem {
  let path = configuredPath;
  const find = async (signal: AbortSignal): Promise<string> => {
    if (path !== undefined) return path;
    const nowMs = clock.now().getTime();
    const { found } = known;
    const isFresh = found !== undefined && nowMs >= found.atMs && nowMs - found.atMs < knownForMs;
    if (isFresh) return found.path;
    path = await findOnlySystem(client, signal);
    known.found = { path, atMs: nowMs };
    return path;
  };
  return {
    client,
    clock,
    path: find,
    read: async (signal) => {
      const tried = await find(signal);
      try {
        return await readResource(client, tried, ComputerSystem, signal);
      } catch (error) {
        // another machine has this address by now
        if (path !== undefined || httpStatusOf(error) !== 404) throw error;
        known.found = undefined;
        return await readResource(client, await find(signal), ComputerSystem, signal);
      }
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
