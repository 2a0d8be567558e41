import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { FirmwareComponent, FirmwareInterface, ShownFirmware } from '#conductor/drivers/interfaces.ts';
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
import { readResource } from '#conductor/drivers/redfish/client/resource.ts';
import { Action, orUndefined, Reference, ServiceRoot } from '#conductor/drivers/redfish/client/schemas.ts';
import { findManager, type RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { monitorOf, readTask, throwIfFailed } from '#conductor/drivers/redfish/client/task.ts';
import { readTaskPaths } from '#conductor/drivers/redfish/client/task-list.ts';
import { lookAtAnswer, lookAtTask } from '#conductor/drivers/redfish/client/task-states.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';
import { readNics } from '#conductor/drivers/redfish/network-cards.ts';
import { type Makers, type PushTarget, pushForm, pushForms, pushRaw } from '#conductor/drivers/redfish/push.ts';
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
      const { components, fault, mayHide } = await readFirmware(system, signal);
      const listed = components.find((each) => each.component === component);
      const now = listed?.version;
      if (now && before.version && now !== before.version) return { state: 'another version' };
      if (fault) throw fault;
      if (!now && before.version && (listed || mayHide(component, before.version))) {
        throw new AppError('unavailable', `${component} at ${client.origin} shows no version now`);
      }
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
function requireComponent(read: Read, name: string, what: string): Found {
  const { components, unread, isUnread, fault, unreadItem } = read;
  const found = components.find(({ component }) => component === name);
  // an image for an item is never sent without it, which AMI has for BIOS and BMC, too; a card's may be any
  const cause = fault ?? (found && !found.known && found.item === undefined ? unreadItem : undefined);
  if (found && cause) throw new AppError('unavailable', `${what}: its item can't be read`, { cause });
  if (found) return found;
  const known = components.map(({ component }) => component).join(', ');
  const lost = unread.length === 0 ? '' : `, and could not be read: ${unread.join(', ')}`;
  const code = isUnread(name) ? 'unavailable' : 'invalid_argument';
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
  /** Why the first of the inventory's items that can't be read can't be. */
  readonly unreadItem: AppError | undefined;
  /** Whether a component may be a part that can't be read. */
  readonly isUnread: (component: string) => boolean;
  readonly mayHide: ShownFirmware['mayHide'];
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
  const { nics, silent, unreadPlaces, unread: unreadNics } = await readNics(system, signal);
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
  const isUnread = (name: string): boolean =>
    places.length > 0 ||
    (name === 'bmc' && unreadManagers.length > 0) ||
    parts.some(({ path }) => [path, idInPath(path), `nic:${idInPath(path)}`].includes(name));
  // parts that have one show none while they are written, or start
  const versionless = [...(bios ? [] : ['bios']), ...(bmc ? [] : ['bmc']), ...silent];
  return {
    components: [...components, ...nics],
    unread: [...unreadManagers, ...places, ...parts].map(({ path }) => path),
    fault: causeIn(unreadInventory),
    unreadItem: causeIn(unread),
    isUnread,
    mayHide: (name, before) =>
      isUnread(name) ||
      versionless.includes(name) ||
      unread.some(({ path }) => isNamedAlike(name, before, idInPath(path))),
    ways,
    makers: [machine, { Manufacturer: root.Vendor, Model: undefined }],
  };
}

/** Answers an error that stands for those of all parts that can't be read. */
function causeIn(unread: readonly Unread[]): AppError | undefined {
  return unread[0]?.error;
}

/** Whether an item's name differs by the version alone that is in it, as Dell's do. */
function isNamedAlike(name: string, version: string | null | undefined, other: string): boolean {
  if (!version || !name.includes(version)) return false;
  const at = name.indexOf(version);
  return other.startsWith(name.slice(0, at)) && other.endsWith(name.slice(at + version.length));
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
