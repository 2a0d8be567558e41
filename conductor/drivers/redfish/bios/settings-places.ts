import type { z } from 'zod';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { httpStatusOf, placeNamedBy } from '#conductor/drivers/redfish/client/errors.ts';
import { type Resource, readResource } from '#conductor/drivers/redfish/client/resource.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import type { Place, SettingsPlaces } from '#conductor/drivers/redfish/client/write-until-shown.ts';
import { errorCode } from '#shared/errors/app-error.ts';

/**
 * Where the coming state of a resource is written. The standard has `@Redfish.Settings`, and without it the resource
 * itself; BMCs by AMI have it below the resource and don't say so, or say so in the refusal alone.
 */

/** Names of settings resources below the resource, in BMCs that have no link to them. */
const wellKnown = ['SD', 'Settings'];

interface Settled {
  readonly '@Redfish.Settings'?:
    | { readonly SettingsObject?: { readonly '@odata.id': string } | null | undefined }
    | null
    | undefined;
}

/**
 * The places for one resource, in turn: those that have been read, then those that it might have.
 * @param options `blindly`: one that can't be read is tried, too
 */
export function settingsPlaces<T>(
  client: RedfishClient,
  schema: z.ZodType<T>,
  options: {
    readonly resource: Resource<T>;
    readonly linked: LinkedSettings<T> | undefined;
    readonly isLinkedFirst: boolean;
    readonly blindly: boolean;
  },
): SettingsPlaces<T> {
  const { resource, linked } = options;
  const read = linked?.read ? [linked.read, resource] : [resource];
  const known: Resource<T>[] = options.isLinkedFirst ? read : read.toReversed();
  const unread = [...(linked && !linked.read ? [linked.path] : []), ...unlinkedPaths(resource.path)];
  const tried = new Set<string>();
  const named: string[] = [];
  const unreadable = (path: string): Place<T> | undefined =>
    options.blindly ? { path, etag: undefined, data: undefined } : undefined;
  return {
    next: async (signal) => {
      for (;;) {
        const path = named.shift() ?? known[0]?.path ?? unread.shift();
        if (path === undefined) return undefined;
        const found = known.find((each) => each.path === path);
        if (found) known.splice(known.indexOf(found), 1);
        if (tried.has(path)) continue;
        tried.add(path);
        const place = found ?? (await readIfThere(client, path, schema, signal)) ?? unreadable(path);
        if (place) return place;
      }
    },
    isElsewhere: (error) => {
      const place = placeNamedBy(error, client.origin);
      if (place !== undefined && !tried.has(place)) named.push(place);
      return place !== undefined || isAbsent(error);
    },
  };
}

export interface LinkedSettings<T> {
  readonly path: string;
  /** `undefined` = the link leads to nothing. */
  readonly read: Resource<T> | undefined;
}

/** The settings resource that a resource links to; `undefined` for one that has no link to another. */
export async function readLinkedSettings<T>(
  client: RedfishClient,
  resource: Resource<Settled>,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<LinkedSettings<T> | undefined> {
  const path = resource.data['@Redfish.Settings']?.SettingsObject?.['@odata.id'];
  if (path === undefined || path === resource.path) return undefined;
  return { path, read: await readIfThere(client, path, schema, signal) };
}

/**
 * The settings resource that a resource links to, or has at a well-known place: one that is written without a link is to
 * be read without it. What has none is asked once.
 */
export async function readSettings<T>(
  { client, withoutSettings }: Pick<RedfishSystem, 'client' | 'withoutSettings'>,
  resource: Resource<Settled>,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<LinkedSettings<T> | undefined> {
  const linked = await readLinkedSettings(client, resource, schema, signal);
  if (linked || withoutSettings.has(resource.path)) return linked;
  for (const path of unlinkedPaths(resource.path)) {
    // nothing leads there: whatever is said of it but its content, it is none
    const read = await readUnless(isBmcError, { client, path, schema, signal });
    if (read) return { path, read };
  }
  withoutSettings.add(resource.path);
  return undefined;
}

function unlinkedPaths(parent: string): readonly string[] {
  return wellKnown.map((name) => `${parent.replace(/\/$/, '')}/${name}`);
}

export function readIfThere<T>(
  client: RedfishClient,
  path: string,
  schema: z.ZodType<T>,
  signal: AbortSignal,
): Promise<Resource<T> | undefined> {
  return readUnless(isAbsent, { client, path, schema, signal });
}

interface Read<T> {
  readonly client: RedfishClient;
  readonly path: string;
  readonly schema: z.ZodType<T>;
  readonly signal: AbortSignal;
}

/** Reads a resource; `undefined` where the error says that there is none. */
async function readUnless<T>(
  saysNone: (error: unknown) => boolean,
  { client, path, schema, signal }: Read<T>,
): Promise<Resource<T> | undefined> {
  try {
    return await readResource(client, path, schema, signal);
  } catch (error) {
    if (!saysNone(error)) throw error;
    return undefined;
  }
}

function isBmcError(error: unknown): boolean {
  return errorCode(error) === 'bmc_error';
}

function isAbsent(error: unknown): boolean {
  return [404, 405, 410].includes(httpStatusOf(error) ?? 0);
}
