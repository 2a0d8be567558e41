import { z } from 'zod';
import { faultOfPart, readMember, readShownPaths } from '#conductor/drivers/redfish/client/collection.ts';
import { httpStatusOf, withoutImages } from '#conductor/drivers/redfish/client/errors.ts';
import { hasMakersWay } from '#conductor/drivers/redfish/client/makers.ts';
import type { Resource } from '#conductor/drivers/redfish/client/resource.ts';
import {
  Action,
  type ComputerSystem,
  Manager,
  orUndefined,
  Reference,
} from '#conductor/drivers/redfish/client/schemas.ts';
import { managerPaths, type RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { AppError, errorChain, isRetryable } from '#shared/errors/app-error.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';

export const VirtualMedia = z.looseObject({
  MediaTypes: orUndefined(z.array(z.string())),
  Image: orUndefined(z.string()),
  ImageName: orUndefined(z.string()),
  Inserted: orUndefined(z.boolean()),
  ConnectedVia: orUndefined(z.string()),
  VerifyCertificate: orUndefined(z.boolean()),
  Certificates: orUndefined(Reference),
  Actions: orUndefined(z.looseObject({ '#VirtualMedia.InsertMedia': Action, '#VirtualMedia.EjectMedia': Action })),
});
export type VirtualMedia = z.infer<typeof VirtualMedia>;

/** A virtual drive for CDs (DMTF VirtualMedia schema). */
export type MediaSlot = Resource<VirtualMedia>;

/**
 * `unsure`: it names an image, and says that it isn't in. Some BMCs keep the name after the ejection, others say so until
 * the machine has read of it.
 */
export type SlotState = 'empty' | 'full' | 'unsure';

export function slotState(data: VirtualMedia): SlotState {
  const { Inserted: inserted } = data;
  const via = data.ConnectedVia?.trim();
  const isConnected = via ? via !== 'NotConnected' : undefined;
  if (!data.Image?.trim() && !data.ImageName?.trim()) {
    // some say of an empty drive that a disc is inserted
    return inserted && isConnected ? 'full' : 'empty';
  }
  if (isConnected === false) return inserted ? 'unsure' : 'empty';
  return inserted === false ? 'unsure' : 'full';
}

/** Whether a document says anything of a drive: that of a BMC that starts may not, and the drive is not empty by it. */
export function saysAnything({ Image, ImageName, Inserted, ConnectedVia, MediaTypes, Actions }: VirtualMedia): boolean {
  return [Image, ImageName, Inserted, ConnectedVia, MediaTypes, Actions].some((each) => each !== undefined);
}

/** Whether it is the image of the URL that the slot names; BMCs may hide a login that they were given. */
export function namesImage(data: VirtualMedia, url: string): boolean {
  return maskUrlLogins(data.Image ?? '') === maskUrlLogins(url);
}

/**
 * Whether a slot that was asked to take the image of the URL shows it: by its address, or, where the BMC has its own way
 * to write that, by a disc that wasn't there. Another URL is another image.
 */
export function showsInsertion(before: VirtualMedia, after: VirtualMedia, url: string): boolean {
  const facts = ({ Image, ImageName, Inserted, ConnectedVia }: VirtualMedia): string =>
    JSON.stringify([Image ?? '', ImageName ?? '', Inserted ?? null, ConnectedVia ?? null]);
  if (facts(before) === facts(after)) return false;
  if (namesImage(after, url)) return true;
  const shown = after.Image ?? '';
  const isOther = /^https?:\/\//i.test(shown) && lastPart(shown) !== lastPart(url) && !url.startsWith(shown);
  return !isOther && (after.Inserted === true || slotState(after) === 'full');
}

function lastPart(url: string): string {
  return /[^/]*$/.exec(url.replace(/[?#].*$/, ''))?.[0] ?? '';
}

/** A slot's own words, for people; of addresses nothing by which a boot's image could be fetched. */
export function describeSlot({ path, data }: MediaSlot): string {
  const image = maskUrlLogins(withoutImages(data.Image ?? 'null'));
  return `${path} shows Image ${image}, Inserted ${data.Inserted ?? null}, ConnectedVia ${data.ConnectedVia ?? null}`;
}

export interface MediaSlots {
  /** Slots for CDs, then those that don't say what they are for. */
  readonly slots: readonly MediaSlot[];
  /** Why others couldn't be read. */
  readonly unread: readonly AppError[];
}

/**
 * The system's virtual drives for CDs, or those of its managers where it has none itself, as Ironic does: Dell shows the
 * same ones at both. What a link leads to and isn't there is no drive.
 * @throws AppError `not_supported` when the BMC has none, `bmc_error` when none could be read
 */
export async function readSlots(system: RedfishSystem, signal: AbortSignal): Promise<MediaSlots> {
  const { client } = system;
  const { data, path } = await system.read(signal);
  const unread: AppError[] = [];
  const unlessBad = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (isGone(error)) return undefined;
      const fault = await faultOfPart(client, error, signal);
      if (fault === undefined) throw error;
      unread.push(fault);
      return undefined;
    }
  };
  const slotsAt = async (place: string | undefined): Promise<readonly MediaSlot[]> => {
    if (place === undefined) return [];
    const slots: MediaSlot[] = [];
    const { read: members, unread: lost } = await readShownPaths(client, place, signal);
    // a collection that isn't there is none
    unread.push(...lost.filter((part) => part.path !== place || !isGone(part.error)).map(({ error }) => error));
    for (const member of members) {
      const slot = await unlessBad(() => readMember(client, member, VirtualMedia, signal));
      if (slot && saysAnything(slot.data)) slots.push(slot);
      else if (slot) unread.push(new AppError('bmc_error', `${member} says nothing of the drive`));
    }
    return forCds(slots, data);
  };
  const own = await slotsAt(data.VirtualMedia?.['@odata.id']);
  if (own.length > 0) return { slots: own, unread };
  const managers = (await unlessBad(() => managerPaths(system, signal))) ?? [];
  const slots: MediaSlot[] = [];
  for (const manager of managers) {
    const found = await unlessBad(() => readMember(client, manager, Manager, signal));
    slots.push(...(await slotsAt(found?.data.VirtualMedia?.['@odata.id'])));
  }
  if (slots.length > 0) return { slots, unread };
  const where = `the system ${path} at ${client.origin}`;
  if (unread.length > 0) {
    const cause = new AppError('bmc_error', unread.map(errorChain).join('; '));
    const retryable = unread.some(isRetryable);
    throw new AppError('bmc_error', `${where}: its virtual CD drives can't be read`, { cause, retryable });
  }
  const lack = managers.length === 0 ? 'shows no virtual CD drive and no manager' : 'has no virtual CD drive';
  throw new AppError('not_supported', `${where} ${lack}; set boot_interface to 'ipxe' and enable PXE at a port`);
}

function isGone(error: unknown): boolean {
  return [404, 410].includes(httpStatusOf(error) ?? 0);
}

function forCds(slots: readonly MediaSlot[], machine: ComputerSystem): readonly MediaSlot[] {
  const isOdd = ({ path }: MediaSlot): boolean =>
    /\/(RDOC|Remote)\d+\/?$/.test(path) && hasMakersWay('fills EXT alone from addresses', machine);
  const typed = slots.filter(({ data }) => isForCds(data));
  const untyped = slots.filter(({ data }) => !data.MediaTypes?.length);
  const all = [...typed, ...untyped];
  return [...all.filter((slot) => !isOdd(slot)), ...all.filter(isOdd)];
}

export function isForCds({ MediaTypes: types }: VirtualMedia): boolean {
  return types?.some((type) => /^(cd|dvd)$/i.test(type)) === true;
}
