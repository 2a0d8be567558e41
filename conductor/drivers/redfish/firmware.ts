import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { FirmwareComponent, FirmwareInterface } from '#conductor/drivers/interfaces.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import {
  readEach,
  readMember,
  readShownPaths,
  requireRead,
  type Unread,
  unlessUnread,
} from '#conductor/drivers/redfish/client/collection.ts';
import { firstTaken, underTitle } from '#conductor/drivers/redfish/client/errors.ts';
import { idInPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { type Makers, type PushTarget, pushForm, pushForms, pushRaw } from '#conductor/drivers/redfish/client/push.ts';
import { readResource } from '#conductor/drivers/redfish/client/resource.ts';
import { Action, orUndefined, Reference, ServiceRoot } from '#conductor/drivers/redfish/client/schemas.ts';
import { findManager, type RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { monitorOf, readTask, throwIfFailed } from '#conductor/drivers/redfish/client/task.ts';
import { readTaskPaths } from '#conductor/drivers/redfish/client/task-list.ts';
import { lookAtAnswer, lookAtTask } from '#conductor/drivers/redfish/client/task-states.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';
import { findTask } from '#conductor/drivers/redfish/update-tasks.ts';
import { AppError } from '#shared/errors/app-error.ts';

const readTimeoutMs = 120_000;
/** The inventory of a large machine has hundreds of items, for each of which an old BMC takes seconds. */
const inventoryTimeoutMs = 15 * 60_000;
/** Some BMCs answer once they have fetched the image; a slow one takes a large image for minutes. */
const startTimeoutMs = 30 * 60_000;

const UpdateService = z.looseObject({
  FirmwareInventory: orUndefined(Reference),
  MultipartHttpPushUri: orUndefined(z.string()),
  HttpPushUri: orUndefined(z.string()),
  HttpPushUriTargets: orUndefined(z.array(z.string())),
  HttpPushUriTargetsBusy: orUndefined(z.boolean()),
  Actions: orUndefined(z.looseObject({ '#UpdateService.SimpleUpdate': Action })),
});
const SoftwareInventory = z.looseObject({
  Id: orUndefined(z.string()),
  Version: orUndefined(z.string()),
  Updateable: orUndefined(z.boolean()),
  RelatedItem: orUndefined(z.array(Reference)),
});
const Chassis = z.looseObject({ NetworkAdapters: orUndefined(Reference) });
const Adapter = z.looseObject({
  Id: orUndefined(z.string()),
  Manufacturer: orUndefined(z.string()),
  Model: orUndefined(z.string()),
  SerialNumber: orUndefined(z.string()),
  Controllers: orUndefined(z.array(z.looseObject({ FirmwarePackageVersion: orUndefined(z.string()) }))),
});

interface Found extends FirmwareComponent, PushTarget {}

/** How images come to the BMC. */
interface Ways {
  /** Path of `SimpleUpdate`. */
  readonly fetchPath: string | undefined;
  readonly formPath: string | undefined;
  readonly rawPath: string | undefined;
  /** Targets that somebody has left `HttpPushUri` set up for. */
  readonly rawTargets: readonly string[];
}

/** The versions of BIOS, BMC and inventory, and the update by `SimpleUpdate` (DMTF UpdateService, SoftwareInventory). */
export function redfishFirmware(system: RedfishSystem): FirmwareInterface {
  const { client } = system;
  return {
    getComponents: async (options) => {
      const { signal } = callDeadline(options, inventoryTimeoutMs);
      const { components, fault, mayHide } = await readFirmware(system, signal);
      const shown = components.map(({ component, version, vendor, model, serialNumber }) => ({
        component,
        version,
        ...(vendor ? { vendor } : {}),
        ...(model ? { model } : {}),
        ...(serialNumber ? { serialNumber } : {}),
      }));
      return { components: shown, fault, mayHide };
    },
    requireComponents: async (names, options) => {
      const read = await readFirmware(system, callDeadline(options, inventoryTimeoutMs).signal);
      if (read.unread.length > 0) return;
      for (const name of names) requireComponent(read, name, `update ${name} at ${client.origin}`);
    },
    startUpdate: async ({ component, url, mustPush }, withFile, options) => {
      const { signal } = callDeadline(options, startTimeoutMs);
      const what = `update ${component} at ${client.origin}`;
      const read = await readFirmware(system, signal);
      const found = requireComponent(read, component, what);
      const way = wayOf(read.ways, { mustPush, found }, what);
      const limits = { timeoutMs: startTimeoutMs, signal };
      const before = { version: found.version, tasks: await readTaskPaths(client, signal) };
      return underTitle(what, async () => {
        const answer = await (way.kind === 'fetch' ? fetched() : withFile(pushed, signal));
        throwIfFailed(lookAtAnswer(answer), what);
        const task = monitorOf(answer, client.origin);
        // the service that was asked is no task
        const isService = task !== undefined && `${way.path}/`.startsWith(`${task.replace(/\/$/, '')}/`);
        return { before: found.version, task: isService ? undefined : task };
      });
      async function fetched(): Promise<RedfishAnswer> {
        await options?.beforeAsking?.(before);
        return firstTaken(bodies(url, found.item), (body) =>
          client.request({ method: 'POST', path: way.path, body, signal }),
        );
      }
      async function pushed(file: string): Promise<RedfishAnswer> {
        await options?.beforeAsking?.(before);
        const push = { path: way.path, file, forms: pushForms(found, read.makers) };
        return way.kind === 'form' ? pushForm(system, push, limits) : pushRaw(system, push, limits);
      }
    },
    findUpdate: async (component, before, options) => {
      const { signal } = callDeadline(options, inventoryTimeoutMs);
      const { ways, unread } = await readUpdateService(client, signal);
      requireRead(unread);
      const places = [ways.fetchPath, ways.formPath, ways.rawPath];
      const found = await findTask(client, { before: before.tasks, places }, signal);
      if (found.state !== 'nothing') return found;
      // after the tasks: what has ended meanwhile shows its version
      const { components, fault } = await readFirmware(system, signal);
      const now = components.find((each) => each.component === component)?.version;
      if (now && before.version && now !== before.version) return { state: 'another version' };
      if (fault) throw fault;
      return { state: 'nothing', isShown: found.isShown && now !== null && now === before.version };
    },
    getUpdateProgress: async (task, options) => {
      const { signal } = callDeadline(options, readTimeoutMs);
      const answer = await readTask(client, task, signal);
      return answer === 'lost' ? { state: 'lost', percent: undefined } : lookAtTask(answer);
    },
  };
}

/** @throws AppError `invalid_argument` for what the BMC does not have, `unavailable` for what may be a part that can't be read */
function requireComponent({ components, unread, mayHide, fault }: Read, name: string, what: string): Found {
  const found = components.find(({ component }) => component === name);
  // an image for an item is never sent without it, which AMI has for BIOS and BMC, too
  if (found && fault) throw new AppError('unavailable', `${what}: its item can't be read`, { cause: fault });
  if (found) return found;
  const known = components.map(({ component }) => component).join(', ');
  const lost = unread.length === 0 ? '' : `, and could not be read: ${unread.join(', ')}`;
  const code = mayHide(name) ? 'unavailable' : 'invalid_argument';
  throw new AppError(code, `${what}: the BMC has no such component; it has ${known || 'none'}${lost}`);
}

interface Way {
  readonly kind: 'fetch' | 'form' | 'raw';
  readonly path: string;
}

/** @throws AppError `not_supported` for a BMC that takes it in none of the ways, or not in the way that is asked for */
function wayOf(
  { fetchPath, formPath, rawPath, rawTargets }: Ways,
  { mustPush, found }: { readonly mustPush: boolean; readonly found: Found },
  what: string,
): Way {
  if (fetchPath !== undefined && !mustPush) return { kind: 'fetch', path: fetchPath };
  if (formPath !== undefined) return { kind: 'form', path: formPath };
  if (rawPath !== undefined && found.item === undefined && rawTargets.length === 0)
    return { kind: 'raw', path: rawPath };
  const raw =
    rawTargets.length > 0
      ? `HttpPushUri alone, which somebody has set up for ${rawTargets.join(', ')}`
      : 'HttpPushUri alone, which takes no image for one part';
  const push = rawPath === undefined ? 'no images (no MultipartHttpPushUri)' : `images by ${raw}`;
  const why = mustPush
    ? `the BMC takes ${push}, so that none can be checked: leave the checksum out, and the BMC fetches the image itself`
    : rawPath === undefined
      ? 'its update service has neither SimpleUpdate nor MultipartHttpPushUri nor HttpPushUri'
      : `the BMC takes ${push}`;
  throw new AppError('not_supported', `${what}: ${why}`);
}

/**
 * Composes the bodies: first as Ironic sends it; Supermicro wants the protocol, and an inventory's item is named as the
 * target.
 */
function bodies(url: string, target: string | undefined): readonly object[] {
  const plain = { ImageURI: url, ...(target === undefined ? {} : { Targets: [target] }) };
  return [plain, { ...plain, TransferProtocol: url.startsWith('https:') ? 'HTTPS' : 'HTTP' }];
}

interface Read {
  readonly components: readonly Found[];
  readonly unread: readonly string[];
  /** Why the update service or its inventory can't be read; of a single item nothing is said here. */
  readonly fault: AppError | undefined;
  readonly mayHide: (component: string) => boolean;
  readonly ways: Ways;
  readonly makers: Makers;
}

/** Reads which firmware there is, and how images come there. An item that can't be read is left out, and named. */
async function readFirmware(system: RedfishSystem, signal: AbortSignal): Promise<Read> {
  const { client } = system;
  const machine = (await system.read(signal)).data;
  const { bmc: manager, unread: unreadManagers } = await findManager(system, signal);
  const { root, inventory, ways, unread: unreadService } = await readUpdateService(client, signal);
  const members = inventory === undefined ? { read: [], unread: [] } : await readShownPaths(client, inventory, signal);
  const unreadInventory = [...unreadService, ...members.unread];
  const { nics, unreadPlaces, unread: unreadNics } = await readNics(system, signal);
  const { read: items, unread } = await readEach(client, members.read, SoftwareInventory, signal);
  const known = (type: 'BIOS' | 'BMC', resource: string | undefined): PushTarget => {
    // AMI has two of each
    const names = new RegExp(`^${type}(Image\\d+)?$`, 'i');
    const own = items.filter(({ path, data }) => names.test(data.Id ?? path.split('/').at(-1) ?? ''));
    return { item: undefined, known: { type, resource, items: own.map(({ path }) => path) } };
  };
  const { BiosVersion: bios, Bios: biosPlace } = machine;
  const bmc = manager?.data.FirmwareVersion;
  const components: Found[] = [
    ...(bios ? [{ component: 'bios', version: bios, ...known('BIOS', biosPlace?.['@odata.id']) }] : []),
    ...(bmc ? [{ component: 'bmc', version: bmc, model: manager?.data.Model, ...known('BMC', manager?.path) }] : []),
  ];
  for (const { path: item, data } of items) {
    for (const nic of nics.filter(({ path }) => data.RelatedItem?.some((each) => each['@odata.id'] === path))) {
      nic.item = item;
    }
    if (data.Updateable === false || components.some(({ component }) => component === data.Id)) continue;
    components.push({ component: data.Id ?? item, version: data.Version ?? null, item });
  }
  const places = [...unreadInventory, ...unreadPlaces];
  const parts = [...unread, ...unreadNics];
  return {
    components: [...components, ...nics],
    unread: [...unreadManagers, ...places, ...parts].map(({ path }) => path),
    fault: unreadInventory[0]?.error,
    mayHide: (name) =>
      places.length > 0 ||
      (name === 'bmc' && unreadManagers.length > 0) ||
      parts.some(({ path }) => [path, idInPath(path), `nic:${idInPath(path)}`].includes(name)),
    ways,
    makers: [machine, { Manufacturer: root.Vendor, Model: undefined }],
  };
}

/** Reads how a BMC takes updates, and where it lists what it has, without the inventory itself. */
async function readUpdateService(client: RedfishClient, signal: AbortSignal) {
  const root = (await readResource(client, '/redfish/v1/', ServiceRoot, signal)).data;
  const service = root.UpdateService?.['@odata.id'];
  const unread: Unread[] = [];
  const read = async (path: string) =>
    unlessUnread(client, path, unread, signal, () => readMember(client, path, UpdateService, signal));
  const updates = service === undefined ? undefined : (await read(service))?.data;
  const ways: Ways = {
    fetchPath: updates?.Actions?.['#UpdateService.SimpleUpdate']?.target,
    formPath: updates?.MultipartHttpPushUri || undefined,
    rawPath: updates?.HttpPushUri || undefined,
    rawTargets: updates?.HttpPushUriTargetsBusy ? ['an update of its own'] : (updates?.HttpPushUriTargets ?? []),
  };
  return { root, inventory: updates?.FirmwareInventory?.['@odata.id'], ways, unread };
}

interface Nic extends FirmwareComponent {
  readonly path: string;
  item: string | undefined;
}

/** Network adapters by Ironic's names, `nic:` and their id; those that report no version are left out. */
async function readNics(
  system: RedfishSystem,
  signal: AbortSignal,
): Promise<{
  readonly nics: readonly Nic[];
  readonly unreadPlaces: readonly Unread[];
  readonly unread: readonly Unread[];
}> {
  const { client } = system;
  const nics: Nic[] = [];
  const places = ((await system.read(signal)).data.Links?.Chassis ?? []).map((place) => place['@odata.id']);
  const { read, unread } = await readEach(client, places, Chassis, signal);
  const unreadPlaces = [...unread];
  const lost: Unread[] = [];
  for (const { data: chassis } of read) {
    const adapters = chassis.NetworkAdapters?.['@odata.id'];
    if (adapters === undefined) continue;
    const paths = await readShownPaths(client, adapters, signal);
    const { read: found, unread: rest } = await readEach(client, paths.read, Adapter, signal);
    unreadPlaces.push(...paths.unread);
    lost.push(...rest);
    for (const { path, data } of found) {
      // one package for all controllers of a card, and not each of them tells it
      const versions = new Set(data.Controllers?.flatMap((each) => each.FirmwarePackageVersion || []));
      const version = [...versions].sort().join(', ');
      const { Manufacturer: vendor, Model: model, SerialNumber: serialNumber } = data;
      if (data.Id && version)
        nics.push({ component: `nic:${data.Id}`, version, vendor, model, serialNumber, path, item: undefined });
    }
  }
  return { nics, unreadPlaces, unread: lost };
}
