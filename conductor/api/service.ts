import { z } from 'zod';
import { type Answer, json, links, nullableText, RemarkAnswer, wholeNumber } from '#conductor/api/values.ts';

/** Answers of a conductor about itself. */

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

/** The version document, with the links of each resource that the version in use has. */
export const VersionRoot = z.strictObject({
  id: z.string(),
  links,
  media_types: z.array(z.strictObject({ base: z.string(), type: z.string() })),
  version,
  chassis: links.optional(),
  nodes: links.optional(),
  ports: links.optional(),
  drivers: links.optional(),
  lookup: links.optional(),
  heartbeat: links.optional(),
  portgroups: links.optional(),
  volume: links.optional(),
  conductors: links.optional(),
  allocations: links.optional(),
  deploy_templates: links.optional(),
  shards: links.optional(),
  continue_inspection: links.optional(),
  runbooks: links.optional(),
  inspection_rules: links.optional(),
});

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

/** The form of every error; the text inside is what operators read. */
export const Fault = z.strictObject({
  error_message: z.string().meta({
    description:
      'A JSON document as text: {"faultcode": "Client" or "Server", "faultstring": …, "debuginfo": null, ' +
      '"error_code": "node_locked" of the conflict that passes by itself}; ' +
      '{"code", "title", "description"} when the path or the version is not served.',
  }),
});

/** Every error below `/api/`, and the answer to an upload or a commit of documents (airship.md §8). */
export const Status = z
  .strictObject({
    kind: z.literal('Status'),
    apiVersion: z.literal('v1.0'),
    metadata: z.strictObject({}),
    status: z.enum(['Success', 'Failure']),
    message: z.string(),
    reason: z.string().meta({ description: 'One word, for programs.' }),
    details: z.strictObject({
      errorCount: wholeNumber,
      messageList: z.array(
        z.strictObject({
          message: z.string(),
          error: z.boolean(),
          kind: z.string().meta({
            description:
              'ValidationMessage of a document, else SimpleMessage, or of a teardown what `name` names: Pod, Label.',
          }),
          level: z.enum(['Error', 'Warning', 'Info']).exactOptional(),
          name: z.string().exactOptional(),
          remark: RemarkAnswer.exactOptional(),
          summarized: z.literal(true).exactOptional().meta({ description: "The answer's own message says it too." }),
          causes: z.array(z.string()).exactOptional().meta({ description: 'Of a cluster that could not be asked.' }),
          documents: z
            .array(z.strictObject({ schema: z.string(), name: z.string(), collection: z.string().exactOptional() }))
            .exactOptional(),
          path: nullableText.exactOptional().meta({ description: 'Within the document: data.groups[2].critical.' }),
        }),
      ),
      remark: RemarkAnswer.exactOptional().meta({ description: 'What message says, as data.' }),
      cause: z
        .string()
        .exactOptional()
        .meta({ description: 'What lies below the failure: TimeUp, NothingBegun, NoKubernetesCluster.' }),
      revision: wholeNumber.exactOptional().meta({ description: "Of the site's documents." }),
    }),
    code: wholeNumber.meta({ description: 'The HTTP status.' }),
    retry: z.literal(true).exactOptional().meta({ description: 'The same request may succeed later.' }),
  })
  .meta({ id: 'Status' });
export type Status = Answer<typeof Status>;
