import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { FirmwareComponent, FirmwareInterface } from '#conductor/drivers/interfaces.ts';
import { httpStatusOf } from '#conductor/drivers/redfish/errors.ts';
import { firstTaken } from '#conductor/drivers/redfish/first-taken.ts';
import { readResource } from '#conductor/drivers/redfish/resource.ts';
import { Collection, lenient, Reference, ServiceRoot, Task } from '#conductor/drivers/redfish/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import { monitorOf, throwIfFailed } from '#conductor/drivers/redfish/task.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

const readTimeoutMs = 120_000;
/** Some BMCs answer once they have fetched the image. */
const startTimeoutMs = 10 * 60_000;

const Manager = z.looseObject({ FirmwareVersion: lenient(z.string()) });
const UpdateService = z.looseObject({
  FirmwareInventory: lenient(Reference),
  Actions: lenient(z.looseObject({ '#UpdateService.SimpleUpdate': lenient(z.looseObject({ target: z.string() })) })),
});
const SoftwareInventory = z.looseObject({
  Id: lenient(z.string()),
  Version: lenient(z.string()),
  Updateable: lenient(z.boolean()),
});

interface Found extends FirmwareComponent {
  /** What the update is for, where the image alone does not say. */
  readonly target: string | undefined;
}

/** The versions of BIOS, BMC and inventory, and the update by `SimpleUpdate` (DMTF UpdateService, SoftwareInventory). */
export function redfishFirmware(system: RedfishSystem): FirmwareInterface {
  const { client } = system;
  return {
    getComponents: async (options) => {
      const components = await readComponents(system, callDeadline(options, readTimeoutMs).signal);
      return components.map(({ component, version }) => ({ component, version }));
    },
    startUpdate: async ({ component, url }, options) => {
      const { signal } = callDeadline(options, startTimeoutMs);
      const what = `update ${component} at ${client.origin}`;
      const components = await readComponents(system, signal);
      const found = components.find((each) => each.component === component);
      if (!found) {
        const known = components.map((each) => each.component).join(', ');
        throw new AppError('invalid_argument', `${what}: the BMC has no such component; it has ${known || 'none'}`);
      }
      const path = (await readUpdateService(system, signal))?.Actions?.['#UpdateService.SimpleUpdate']?.target;
      if (path === undefined) throw new AppError('not_supported', `${what}: its update service has no SimpleUpdate`);
      try {
        const answer = await firstTaken(bodies(url, found.target), (body) =>
          client.request({ method: 'POST', path, body, signal }),
        );
        throwIfFailed(answer, what);
        return answer.status === 202 ? monitorOf(answer, client.origin) : undefined;
      } catch (cause) {
        throw new AppError(errorCode(cause), what, { cause });
      }
    },
    getUpdateProgress: async (task, options) => {
      const { signal } = callDeadline(options, readTimeoutMs);
      try {
        const answer = await client.request({ method: 'GET', path: task, signal });
        throwIfFailed(answer, `firmware update at ${client.origin}`);
        const { data } = Task.safeParse(answer.body);
        return { state: stateOf(answer.status, data?.TaskState), percent: data?.PercentComplete ?? undefined };
      } catch (error) {
        if (httpStatusOf(error) !== 404) throw error;
        return { state: 'lost', percent: undefined };
      }
    },
  };
}

/**
 * A monitor answers 202 as long as its task runs; a task itself is always 200 (DSP0266, asynchronous operations). A job
 * that Dell has scheduled for the next reset is `Starting`.
 */
function stateOf(status: number, state: string | null | undefined): 'pending' | 'running' | 'done' {
  if (['New', 'Pending', 'Starting', 'Suspended'].includes(state ?? '')) return 'pending';
  return status === 202 || ['Running', 'Stopping', 'Service'].includes(state ?? '') ? 'running' : 'done';
}

/** As Ironic sends it; Supermicro wants the protocol, and an inventory's item is named as the target. */
function bodies(url: string, target: string | undefined): readonly object[] {
  const plain = { ImageURI: url, ...(target === undefined ? {} : { Targets: [target] }) };
  return [plain, { ...plain, TransferProtocol: url.startsWith('https:') ? 'HTTPS' : 'HTTP' }];
}

async function readUpdateService(
  { client }: RedfishSystem,
  signal: AbortSignal,
): Promise<z.infer<typeof UpdateService> | undefined> {
  const path = (await readResource(client, '/redfish/v1/', ServiceRoot, signal)).data.UpdateService?.['@odata.id'];
  return path === undefined ? undefined : (await readResource(client, path, UpdateService, signal)).data;
}

async function readComponents(system: RedfishSystem, signal: AbortSignal): Promise<readonly Found[]> {
  const { client } = system;
  const { data } = await system.read(signal);
  const found: Found[] = [];
  if (data.BiosVersion) found.push({ component: 'bios', version: data.BiosVersion, target: undefined });
  const manager = data.Links?.ManagedBy?.[0]?.['@odata.id'];
  if (manager !== undefined) {
    const version = (await readResource(client, manager, Manager, signal)).data.FirmwareVersion;
    if (version) found.push({ component: 'bmc', version, target: undefined });
  }
  const inventory = (await readUpdateService(system, signal))?.FirmwareInventory?.['@odata.id'];
  if (inventory === undefined) return found;
  const { data: members } = await readResource(client, inventory, Collection, signal);
  for (const { '@odata.id': target } of members.Members) {
    const {
      Id: id,
      Version: version,
      Updateable: isUpdateable,
    } = (await readResource(client, target, SoftwareInventory, signal)).data;
    if (isUpdateable === false || found.some(({ component }) => component === id)) continue;
    found.push({ component: id ?? target, version: version ?? null, target });
  }
  return found;
}
