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

/**
 * A collection's members over all of its pages (DSP0266, "Resource collection responses"), each as `member` has it; what is
 * none is left out.
 * @throws AppError `bmc_error` for a collection without members that doesn't say that it has none, and one that never ends
 */
export async function readMembers<Member>(
  client: RedfishClient,
  first: string,
  member: z.ZodType<Member>,
  signal: AbortSignal,
): Promise<readonly Member[]> {
  return (await readCollection(client, first, member, signal)).members;
}

/** The paths of a collection's members. @throws AppError as `readMembers` */
export async function readMemberPaths(
  client: RedfishClient,
  first: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  return (await readMembers(client, first, Reference, signal)).map((member) => member['@odata.id']);
}

/**
 * The paths of all members, where it counts that there is no other.
 * @param unnamed what becomes of members without a link: nothing can be done to them, nor may they be taken for none where
 * they hold something
 * @throws AppError as `readMembers`; `bmc_error` for a collection that shows fewer members than it says to have
 */
export async function readAllMemberPaths(
  client: RedfishClient,
  first: string,
  signal: AbortSignal,
  unnamed: 'left out' | 'refused' = 'refused',
): Promise<readonly string[]> {
  const found = await readCollection(client, first, Reference, signal);
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
): Promise<{
  readonly read: readonly Resource<T>[];
  readonly unread: readonly { readonly path: string; readonly error: AppError }[];
}> {
  const read: Resource<T>[] = [];
  const unread: { readonly path: string; readonly error: AppError }[] = [];
  for (const path of paths) {
    try {
      read.push(await readMember(client, path, schema, signal));
    } catch (cause) {
      const error = await faultOfPart(client, cause, signal);
      if (error === undefined) throw cause;
      client.log.warn({ err: error, bmc: client.origin, path }, 'a part of the BMC can not be read, and is left out');
      unread.push({ path, error });
    }
  }
  return { read, unread };
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
}

async function readCollection<Member>(
  client: RedfishClient,
  first: string,
  member: z.ZodType<Member>,
  signal: AbortSignal,
): Promise<Collection<Member>> {
  const { origin, log } = client;
  const Page = z
    .looseObject({
      Members: z.array(z.unknown()).optional(),
      'Members@odata.count': orUndefined(z.number()),
      'Members@odata.nextLink': orUndefined(z.string()),
    })
    // some leave out an empty list
    .refine((page) => page.Members ?? page['Members@odata.count'] === 0, 'it has no Members, and no count of 0');
  const listed: unknown[] = [];
  let count: number | undefined;
  let pages = 0;
  for (let path: string | undefined = first; path !== undefined; pages += 1) {
    if (pages === maxPages) throw new AppError('bmc_error', `${first} at ${origin} has over ${maxPages} pages`);
    const page: z.infer<typeof Page> = (await readResource(client, path, Page, signal)).data;
    listed.push(...(page.Members ?? []));
    count = page['Members@odata.count'] ?? count;
    const link = page['Members@odata.nextLink'];
    const next: string | undefined = link ? ownPath(link, `${origin}${requireOwnPath(path, origin)}`) : undefined;
    if (link && next === undefined) throw new AppError('bmc_error', `${first} at ${origin} leads to ${link}`);
    path = next;
  }
  const places = listed.filter((each) => each !== null);
  const members = places.flatMap((each) => member.safeParse(each).data ?? []);
  const unnamed = places.length - members.length;
  if (unnamed > 0) log.warn({ bmc: origin, path: first, unnamed }, 'members of a collection are no links');
  return { members, unnamed, shown: listed.length, all: count ?? listed.length };
}
