import { z } from 'zod';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { isLoginRefused } from '#conductor/drivers/redfish/client/errors.ts';
import { ownPath, requireOwnPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { type Resource, readResource } from '#conductor/drivers/redfish/client/resource.ts';
import { orUndefined, Reference } from '#conductor/drivers/redfish/client/schemas.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/** Pages of a collection, however many members are on each. */
const maxPages = 100;
/** Milliseconds for one member with its retries, so that one that hangs leaves time for others; an answer may take 30 s. */
const memberMs = 40_000;
/** Each that hangs halves the time of the next, down to this: a call of two minutes outlives ten of them. */
const leastMemberMs = 3_000;
/** How many members have hung, by the call that reads them. */
const hung = new WeakMap<AbortSignal, number>();

/** A part of the BMC that can't be read, so that nothing is known of it. */
export interface Unread {
  readonly path: string;
  readonly error: AppError;
}

/** Parts that can be read, and those that can't, each named in the log. */
interface Shown<Part> {
  readonly read: readonly Part[];
  readonly unread: readonly Unread[];
}

/**
 * Reads a collection's members over all of its pages (DSP0266, "Resource collection responses"), each as `member` has it.
 * What is no such member is left out, and so are pages that can't be read, or the whole collection.
 * @throws AppError where the BMC refuses the login, or does not answer
 */
export async function readMembers<Member>(
  client: RedfishClient,
  first: string,
  member: z.ZodType<Member>,
  signal: AbortSignal,
): Promise<Shown<Member>> {
  const unread: Unread[] = [];
  const found = await unlessUnread(client, first, unread, signal, () => readCollection(client, first, member, signal));
  return found ? { read: found.members, unread: found.unread } : { read: [], unread };
}

/** Reads the paths of a collection's members, as far as it can be read. @throws AppError as `readMembers` */
export async function readShownPaths(
  client: RedfishClient,
  first: string,
  signal: AbortSignal,
): Promise<Shown<string>> {
  const { read, unread } = await readMembers(client, first, Reference, signal);
  return { read: read.map((member) => member['@odata.id']), unread };
}

/**
 * Reads the paths of a collection's members, over all of its pages.
 * @throws AppError `bmc_error` for a collection without members that doesn't say that it has none, and one whose pages can't
 * all be read, or never end
 */
export async function readMemberPaths(
  client: RedfishClient,
  first: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  return (await readWhole(client, first, signal)).members.map((member) => member['@odata.id']);
}

/**
 * The paths of all members, where it counts that there is no other.
 * @param unnamed what becomes of members without a link: nothing can be done to them, nor may they be taken for none where
 * they hold something
 * @throws AppError as `readMemberPaths`; `bmc_error` for a collection that shows fewer members than it says to have
 */
export async function readAllMemberPaths(
  client: RedfishClient,
  first: string,
  signal: AbortSignal,
  unnamed: 'left out' | 'refused' = 'refused',
): Promise<readonly string[]> {
  const found = await readWhole(client, first, signal);
  const lost = found.all - found.shown;
  if (lost > 0 || (unnamed === 'refused' && found.unnamed > 0)) {
    const all = found.members.length + found.unnamed + Math.max(0, lost);
    const what = `${first} at ${client.origin} says that it has ${all} members, and shows ${found.members.length}`;
    throw new AppError('bmc_error', `${what}: nothing is done by a part of it`, { details: { isNoAnswer: true } });
  }
  return found.members.map((member) => member['@odata.id']);
}

/**
 * Members that can be read, each within its own time; why others can't, one by one: of those nothing is known. No answer
 * of the BMC itself is an error, and so is a login that is refused.
 */
export async function readEach<T>(
  client: RedfishClient,
  paths: readonly string[],
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<Shown<Resource<T>>> {
  const read: Resource<T>[] = [];
  const unread: Unread[] = [];
  for (const path of paths) {
    const one = await unlessUnread(client, path, unread, signal, () => readMember(client, path, schema, signal));
    if (one) read.push(one);
  }
  return { read, unread };
}

/** Reads a part of a BMC; one that can't be read is named in the log and among the `unread`. @throws AppError as `readEach` */
export async function unlessUnread<T>(
  client: RedfishClient,
  path: string,
  unread: Unread[],
  signal: AbortSignal,
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (cause) {
    const error = await faultOfPart(client, cause, signal);
    if (error === undefined) throw cause;
    client.log.warn({ err: error, bmc: client.origin, path }, 'a part of the BMC can not be read, and is left out');
    unread.push({ path, error });
    return undefined;
  }
}

/** @throws AppError the error of the first part that can't be read */
export function requireRead([first]: readonly Unread[]): void {
  if (first) throw first.error;
}

/** Reads one of several in a time of its own. */
export async function readMember<T>(
  client: RedfishClient,
  path: string,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<Resource<T>> {
  const before = hung.get(signal) ?? 0;
  const ownMs = Math.max(leastMemberMs, memberMs / 2 ** before);
  try {
    return await readResource(client, path, schema, AbortSignal.any([signal, AbortSignal.timeout(ownMs)]));
  } catch (error) {
    if (errorCode(error) === 'timeout') hung.set(signal, before + 1);
    throw error;
  }
}

/**
 * The error, where it is a fault of one part of a BMC; `undefined` where the BMC refuses the login, or does not answer: a
 * part hangs by itself, or is not there for now, only while the service's root answers.
 */
export async function faultOfPart(
  client: RedfishClient,
  error: unknown,
  signal: AbortSignal,
): Promise<AppError | undefined> {
  if (signal.aborted || !(error instanceof AppError) || isLoginRefused(error)) return undefined;
  if (error.code === 'bmc_error') return error;
  if (error.code !== 'timeout' && error.code !== 'unavailable') return undefined;
  const answers = readMember(client, '/redfish/v1/', z.unknown(), signal).then(
    () => true,
    () => false,
  );
  return (await answers) ? error : undefined;
}

interface Collection<Member> {
  readonly members: readonly Member[];
  /** Members that are something else; null is an empty place (DSP0266, "Array properties"). */
  readonly unnamed: number;
  /** How many it lists, with empty places, and how many it says to have. */
  readonly shown: number;
  readonly all: number;
  /** The page at which the reading ended, though it had not shown all. */
  readonly unread: readonly Unread[];
}

/** Reads all pages of a collection of links. @throws AppError as `readMemberPaths` */
async function readWhole(
  client: RedfishClient,
  first: string,
  signal: AbortSignal,
): Promise<Collection<z.infer<typeof Reference>>> {
  const found = await readCollection(client, first, Reference, signal);
  requireRead(found.unread);
  return found;
}

const Page = z
  .looseObject({
    Members: z.array(z.unknown()).optional(),
    'Members@odata.count': orUndefined(z.number()),
    'Members@odata.nextLink': orUndefined(z.string()),
  })
  // some leave out an empty list
  .refine((page) => page.Members ?? page['Members@odata.count'] === 0, 'it has no Members, and no count of 0');

/** Reads page after page, until there is no other, or it can't be read or was read before. */
async function readCollection<Member>(
  client: RedfishClient,
  first: string,
  member: z.ZodType<Member>,
  signal: AbortSignal,
): Promise<Collection<Member>> {
  const { origin, log } = client;
  const listed: unknown[] = [];
  const links = new Set<string>();
  const pages = new Set<string>();
  const unread: Unread[] = [];
  const readPage = async (path: string): Promise<z.infer<typeof Page>> => {
    if (pages.has(path)) throw new AppError('bmc_error', `${first} at ${origin} leads back to its page ${path}`);
    if (pages.size === maxPages) throw new AppError('bmc_error', `${first} at ${origin} has over ${maxPages} pages`);
    pages.add(path);
    return (await readResource(client, path, Page, signal)).data;
  };
  let count: number | undefined;
  for (let path: string | undefined = first; path !== undefined; ) {
    const at: string = path;
    const isFirst = pages.size === 0;
    const page = await (isFirst ? readPage(at) : unlessUnread(client, at, unread, signal, () => readPage(at)));
    if (!page) break;
    const own = (page.Members ?? []).map((each) => ({ each, link: Reference.safeParse(each).data?.['@odata.id'] }));
    // of what a page shows again only what has no link may be another
    listed.push(...own.filter(({ link }) => link === undefined || !links.has(link)).map(({ each }) => each));
    for (const { link } of own) if (link !== undefined) links.add(link);
    count = page['Members@odata.count'] ?? count;
    const next = page['Members@odata.nextLink'];
    path = next ? ownPath(next, `${origin}${requireOwnPath(at, origin)}`) : undefined;
    if (next && path === undefined) throw new AppError('bmc_error', `${first} at ${origin} leads to ${next}`);
  }
  const places = listed.filter((each) => each !== null);
  const members = places.flatMap((each) => member.safeParse(each).data ?? []);
  const unnamed = places.length - members.length;
  if (unnamed > 0) log.warn({ bmc: origin, path: first, unnamed }, 'members of a collection are no links');
  const isWhole = count !== undefined && listed.length >= count;
  return { members, unnamed, shown: listed.length, all: count ?? listed.length, unread: isWhole ? [] : unread };
}
