import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { FirmwareComponent, FirmwareInterface } from '#conductor/drivers/interfaces.ts';
import { readMemberPaths } from '#conductor/drivers/redfish/collection.ts';
import { attempted, firstTaken } from '#conductor/drivers/redfish/errors.ts';
import { readResource } from '#conductor/drivers/redfish/resource.ts';
import { Action, lenient, Reference, ServiceRoot } from '#conductor/drivers/redfish/schemas.ts';
import { findManager, type RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import { monitorOf, readTask, throwIfFailed } from '#conductor/drivers/redfish/task.ts';
import { lookAtTask } from '#conductor/drivers/redfish/task-states.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/transport.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { fileForm } from '#shared/peers/file-form.ts';

const readTimeoutMs = 120_000;
/** Some BMCs answer once they have fetched the image; a slow one takes a large image for minutes. */
const startTimeoutMs = 30 * 60_000;

const UpdateService = z.looseObject({
  FirmwareInventory: lenient(Reference),
  MultipartHttpPushUri: lenient(z.string()),
  Actions: lenient(z.looseObject({ '#UpdateService.SimpleUpdate': Action })),
});
const SoftwareInventory = z.looseObject({
  Id: lenient(z.string()),
  Version: lenient(z.string()),
  Updateable: lenient(z.boolean()),
  RelatedItem: lenient(z.array(Reference)),
});
const Chassis = z.looseObject({ NetworkAdapters: lenient(Reference) });
const Adapter = z.looseObject({
  Id: lenient(z.string()),
  Controllers: lenient(z.array(z.looseObject({ FirmwarePackageVersion: lenient(z.string()) }))),
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
      const { components } = await readFirmware(system, callDeadline(options, readTimeoutMs).signal);
      return components.map(({ component, version }) => ({ component, version }));
    },
    startUpdate: async ({ component, url, mustPush }, withFile, options) => {
      const { signal } = callDeadline(options, startTimeoutMs);
      const what = `update ${component} at ${client.origin}`;
      const { components, path, pushPath } = await readFirmware(system, signal);
      const found = components.find((each) => each.component === component);
      if (!found) {
        const known = components.map((each) => each.component).join(', ');
        throw new AppError('invalid_argument', `${what}: the BMC has no such component; it has ${known || 'none'}`);
      }
      const way = wayOf({ path, pushPath, mustPush }, what);
      return attempted(what, async () => {
        const answer = await (way === 'push'
          ? withFile((file) => push(system, { path: pushPath ?? '', file, target: found.target }, signal), signal)
          : firstTaken(bodies(url, found.target), (body) =>
              client.request({ method: 'POST', path: path ?? '', body, signal }),
            ));
        throwIfFailed(lookAtTask(answer), what);
        return { before: found.version, task: monitorOf(answer, client.origin) };
      });
    },
    getUpdateProgress: async (task, options) => {
      const { signal } = callDeadline(options, readTimeoutMs);
      const answer = await readTask(client, task, signal);
      return answer === 'lost' ? { state: 'lost', percent: undefined } : lookAtTask(answer);
    },
  };
}

/** @throws AppError `not_supported` for a BMC that takes it neither way, or not in the way that is asked for */
function wayOf(
  { path, pushPath, mustPush }: { path: string | undefined; pushPath: string | undefined; mustPush: boolean },
  what: string,
): 'push' | 'fetch' {
  if (pushPath !== undefined && (mustPush || path === undefined)) return 'push';
  if (path !== undefined && !mustPush) return 'fetch';
  const why = mustPush
    ? 'the BMC takes no images (no MultipartHttpPushUri), so that none can be checked: leave the checksum out, and the BMC fetches the image itself'
    : 'its update service has neither SimpleUpdate nor MultipartHttpPushUri';
  throw new AppError('not_supported', `${what}: ${why}`);
}

/** DSP0266, "Multipart HTTP push updates"; read from the disk as the BMC takes it. */
async function push(
  { client }: RedfishSystem,
  { path, file, target }: { readonly path: string; readonly file: string; readonly target: string | undefined },
  signal: AbortSignal,
): Promise<RedfishAnswer> {
  const form = await fileForm(
    { name: 'UpdateParameters', json: { Targets: target === undefined ? [] : [target] } },
    { name: 'UpdateFile', path: file },
  );
  return client.request({ method: 'POST', path, form, timeoutMs: startTimeoutMs, signal });
}

/** As Ironic sends it; Supermicro wants the protocol, and an inventory's item is named as the target. */
function bodies(url: string, target: string | undefined): readonly object[] {
  const plain = { ImageURI: url, ...(target === undefined ? {} : { Targets: [target] }) };
  return [plain, { ...plain, TransferProtocol: url.startsWith('https:') ? 'HTTPS' : 'HTTP' }];
}

/** What there is, and where `SimpleUpdate` is asked for. */
async function readFirmware(
  system: RedfishSystem,
  signal: AbortSignal,
): Promise<{
  readonly components: readonly Found[];
  readonly path: string | undefined;
  readonly pushPath: string | undefined;
}> {
  const { client } = system;
  const bios = (await system.read(signal)).data.BiosVersion;
  const bmc = (await findManager(system, signal))?.data.FirmwareVersion;
  const service = (await readResource(client, '/redfish/v1/', ServiceRoot, signal)).data.UpdateService?.['@odata.id'];
  const updates = service === undefined ? undefined : (await readResource(client, service, UpdateService, signal)).data;
  const components: Found[] = [
    ...(bios ? [{ component: 'bios', version: bios, target: undefined }] : []),
    ...(bmc ? [{ component: 'bmc', version: bmc, target: undefined }] : []),
  ];
  const inventory = updates?.FirmwareInventory?.['@odata.id'];
  const members = inventory === undefined ? [] : await readMemberPaths(client, inventory, signal);
  const nics = await readNics(system, signal);
  for (const target of members) {
    const { data } = await readResource(client, target, SoftwareInventory, signal);
    for (const nic of nics.filter(({ path }) => data.RelatedItem?.some((item) => item['@odata.id'] === path))) {
      nic.target = target;
    }
    if (data.Updateable === false || components.some(({ component }) => component === data.Id)) continue;
    components.push({ component: data.Id ?? target, version: data.Version ?? null, target });
  }
  const path = updates?.Actions?.['#UpdateService.SimpleUpdate']?.target;
  return { components: [...components, ...nics], path, pushPath: updates?.MultipartHttpPushUri || undefined };
}

interface Nic extends FirmwareComponent {
  readonly path: string;
  target: string | undefined;
}

/** Network adapters by Ironic's names, `nic:` and their id; those that report no version are left out. */
async function readNics(system: RedfishSystem, signal: AbortSignal): Promise<Nic[]> {
  const { client } = system;
  const nics: Nic[] = [];
  for (const { '@odata.id': place } of (await system.read(signal)).data.Links?.Chassis ?? []) {
    const adapters = (await readResource(client, place, Chassis, signal)).data.NetworkAdapters?.['@odata.id'];
    if (adapters === undefined) continue;
    for (const path of await readMemberPaths(client, adapters, signal)) {
      const { data } = await readResource(client, path, Adapter, signal);
      const version = data.Controllers?.[0]?.FirmwarePackageVersion;
      if (data.Id && version) nics.push({ component: `nic:${data.Id}`, version, path, target: undefined });
    }
  }
  return nics;
}
