import type { z } from 'zod';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { readEach, readShownPaths, type Unread } from '#conductor/drivers/redfish/client/collection.ts';
import type { Resource } from '#conductor/drivers/redfish/client/resource.ts';

/** The reading of one part of a machine. */
export interface Ask {
  readonly client: RedfishClient;
  readonly signal: AbortSignal;
  /** Grows by what can't be read. */
  readonly unread: Unread[];
  /** Grows by what the BMC does not show, in words. */
  readonly missing: string[];
}

/** Reads the members at these paths; those that can't be read are noted. */
export async function readParts<T>(ask: Ask, paths: readonly string[], schema: z.ZodType<T>): Promise<Resource<T>[]> {
  const { read, unread } = await readEach(ask.client, paths, schema, ask.signal);
  ask.unread.push(...unread);
  return [...read];
}

/** Reads the members of a collection; pages and members that can't be read are noted. */
export async function readPartsOf<T>(ask: Ask, place: string, schema: z.ZodType<T>): Promise<Resource<T>[]> {
  const paths = await readShownPaths(ask.client, place, ask.signal);
  ask.unread.push(...paths.unread);
  return readParts(ask, paths.read, schema);
}

/** Adds up what each says; `undefined` where one of them says nothing, or there is none. */
export function sumOf(amounts: readonly (number | null | undefined)[]): number | undefined {
  const said = amounts.filter((amount) => typeof amount === 'number');
  if (said.length === 0 || said.length < amounts.length) return undefined;
  return said.reduce((sum, amount) => sum + amount, 0);
}

/** Returns what all say alike; `undefined` where they differ, or one of them says nothing. */
export function sameOf(texts: readonly (string | undefined)[]): string | undefined {
  return texts.length === 0 ? undefined : texts.reduce((one, each) => (one === each ? one : undefined));
}
