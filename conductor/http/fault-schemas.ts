import { z } from 'zod';
import { line, whole } from '#conductor/http/answer-values.ts';
import type { StatusObject } from '#conductor/http/status-object.ts';
import type { Remark } from '#conductor/model/remark.ts';

/** The form of every error; the text inside is what operators read. */
export const Fault = z.strictObject({
  error_message: z.string().meta({
    description:
      'A JSON document as text: {"faultcode": "Client" or "Server", "faultstring": …, "debuginfo": null, ' +
      '"error_code": "node_locked" of the conflict that passes by itself}; ' +
      '{"code", "title", "description"} when the path or the version is not served.',
  }),
});

/** What a message says, as data: the words of a code may change, its arguments do not (`model/remark-words.ts`). */
const RemarkAnswer: z.ZodType<Remark> = z.strictObject({
  code: z.string(),
  subject: z.string().exactOptional(),
  arguments: z.record(z.string(), z.any()),
});

/** The form of every error below `/api/`, and of what is answered to an upload or a commit of documents. */
export const Status: z.ZodType<StatusObject> = z.strictObject({
  kind: z.literal('Status'),
  apiVersion: z.literal('v1.0'),
  metadata: z.strictObject({}),
  status: z.enum(['Success', 'Failure']),
  message: z.string(),
  reason: z.string().meta({ description: 'One word, for programs.' }),
  details: z.strictObject({
    errorCount: whole,
    messageList: z.array(
      z.strictObject({
        message: z.string(),
        error: z.boolean(),
        kind: z.enum(['SimpleMessage', 'ValidationMessage']),
        level: z.enum(['Error', 'Warning', 'Info']).exactOptional(),
        name: z.string().exactOptional(),
        documents: z
          .array(z.strictObject({ schema: z.string(), name: z.string(), collection: z.string().exactOptional() }))
          .exactOptional(),
        remark: RemarkAnswer.exactOptional(),
        summarized: z.literal(true).exactOptional().meta({ description: "The answer's own message says it too." }),
        path: line.exactOptional().meta({ description: 'Within the document: data.groups[2].critical.' }),
      }),
    ),
    remark: RemarkAnswer.exactOptional().meta({ description: 'What message says, as data.' }),
    cause: z
      .string()
      .exactOptional()
      .meta({ description: 'What lies below the failure: TimeUp, NoKubernetesCluster.' }),
    revision: whole.exactOptional().meta({ description: "Of the site's documents." }),
  }),
  code: whole.meta({ description: 'The HTTP status.' }),
  retry: z.literal(true).exactOptional().meta({ description: 'The same request may succeed later.' }),
});
