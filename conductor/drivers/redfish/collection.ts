import { z } from 'zod';
import type { RedfishClient } from '#conductor/drivers/redfish/client.ts';
import { ownPath, requireOwnPath } from '#conductor/drivers/redfish/own-path.ts';
import { readResource } from '#conductor/drivers/redfish/resource.ts';
import { lenient, Reference } from '#conductor/drivers/redfish/schemas.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Pages of a collection, however many members are on each. */
const maxPages = 100;

/**
 * A collection's members over all of its pages (DSP0266, "Resource collection responses"), each as `member` has it.
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
 * @throws AppError as `readMembers`; `bmc_error` for a collection that shows fewer members than it says to have
 */
export async function readAllMemberPaths(
  client: RedfishClient,
  first: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { members, count } = await readCollection(client, first, Reference, signal);
  if (count !== undefined && members.length < count) {
    const shown = `${first} at ${client.origin} says that it has ${count} members, and shows ${members.length}`;
    throw new AppError('bmc_error', `${shown}: nothing is done by a part of it`);
  }
  return members.map((member) => member['@odata.id']);
}

async function readCollection<Member>(
  client: RedfishClient,
  first: string,
  member: z.ZodType<Member>,
  signal: AbortSignal,
): Promise<{ readonly members: readonly Member[]; readonly count: number | undefined }> {
  const { origin } = client;
  const Page = z
    .looseObject({
      Members: z.array(member).optional(),
      'Members@odata.count': lenient(z.number()),
      'Members@odata.nextLink': lenient(z.string()),
    })
    // some leave out an empty list
    .refine((page) => page.Members ?? page['Members@odata.count'] === 0, 'it has no Members, and no count of 0');
  const members: Member[] = [];
  let count: number | undefined;
  let pages = 0;
  for (let path: string | undefined = first; path !== undefined; pages += 1) {
    if (pages === maxPages) throw new AppError('bmc_error', `${first} at ${origin} has over ${maxPages} pages`);
    const page: z.infer<typeof Page> = (await readResource(client, path, Page, signal)).data;
    members.push(...(page.Members ?? []));
    count = page['Members@odata.count'] ?? count;
    const link = page['Members@odata.nextLink'];
    const next: string | undefined = link ? ownPath(link, `${origin}${requireOwnPath(path, origin)}`) : undefined;
    if (link && next === undefined) throw new AppError('bmc_error', `${first} at ${origin} leads to ${link}`);
    path = next;
  }
  return { members, count };
}
