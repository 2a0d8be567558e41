import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { readMemberPaths } from '#conductor/drivers/redfish/client/collection.ts';
import { readResource } from '#conductor/drivers/redfish/client/resource.ts';
import { ServiceRoot, TaskService } from '#conductor/drivers/redfish/client/schemas.ts';
import { errorCode } from '#shared/errors/app-error.ts';

/** Reads the paths of the BMC's tasks; `null` where it has no list of them, or where that can't be read now. */
export async function readTaskPaths(client: RedfishClient, signal: AbortSignal): Promise<readonly string[] | null> {
  try {
    const root = (await readResource(client, '/redfish/v1/', ServiceRoot, signal)).data;
    const service = root.Tasks?.['@odata.id'];
    if (service === undefined) return null;
    const tasks = (await readResource(client, service, TaskService, signal)).data.Tasks?.['@odata.id'];
    return tasks === undefined ? null : await readMemberPaths(client, tasks, signal);
  } catch (error) {
    if (signal.aborted || !['bmc_error', 'unavailable', 'timeout'].includes(errorCode(error))) throw error;
    client.log.debug({ err: error, bmc: client.origin }, 'the tasks of the BMC can not be read');
    return null;
  }
}
