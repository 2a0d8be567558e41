import { z } from 'zod';
import { json, links } from '#conductor/api/values.ts';

/** What a conductor answers of itself. */

const version = z.strictObject({
  id: z.string(),
  links,
  status: z.string(),
  min_version: z.string(),
  version: z.string(),
});

export const Root = z.strictObject({
  name: z.string(),
  description: z.string(),
  default_version: version,
  versions: z.array(version),
});

/** The resources of the version in use, each with its links, beside these. */
export const VersionRoot = z
  .object({
    id: z.string(),
    links,
    media_types: z.array(z.strictObject({ base: z.string(), type: z.string() })),
    version,
  })
  .catchall(links);

/** Airship's: version → where it is. */
export const Versions = z.record(z.string(), z.strictObject({ path: z.string(), status: z.string() }));

export const Health = z.strictObject({
  status: z.enum(['ok', 'not ready']),
  checks: z.record(z.string(), z.enum(['ok', 'failed'])),
  causes: z.record(z.string(), z.string()).optional(),
});

/** An empty list under the collection's name. */
export const Children = z.strictObject({
  children: z.array(json).max(0),
  links: z.strictObject({ href: z.string(), rel: z.string() }),
});
export const ConsoleState = z.strictObject({
  console_enabled: z.boolean(),
  console_info: z.strictObject({ type: z.literal('websocket'), url: z.string() }).nullable(),
});
export const Nothing = z.strictObject({});
