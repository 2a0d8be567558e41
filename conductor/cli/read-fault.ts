import { z } from 'zod';

const Inner = z.object({
  faultstring: z.string().optional(),
  description: z.string().optional(),
  error_code: z.literal('node_locked').optional().catch(undefined),
});
type Inner = z.infer<typeof Inner>;
const Outer = z.object({ error_message: z.union([z.string(), Inner]) });

const Status = z.object({
  kind: z.literal('Status'),
  message: z.string(),
  details: z.object({ cause: z.string().optional() }).default({}),
});

export interface Fault {
  readonly message: string | undefined;
  /** Of Ironic's error bodies by Baton: of the conflicts the one that passes by itself. */
  readonly code?: 'node_locked' | undefined;
  /** Of a Status object: `NoKubernetesCluster`, `TimeUp`. */
  readonly cause?: string | undefined;
}

/** A Status object, which a site's API answers, or else Ironic's error body. */
export function readFault(body: string): Fault {
  const status = Status.safeParse(parseJson(body));
  if (status.success) return { message: status.data.message, cause: status.data.details.cause };
  const inner = readIronicFault(body);
  return { message: inner?.faultstring ?? inner?.description, code: inner?.error_code };
}

/**
 * What an Ironic error body has within: a JSON document inside a JSON document, `{"error_message": "{\"faultstring\": …}"}`,
 * or the object itself. `undefined` for anything else.
 */
function readIronicFault(body: string): Inner | undefined {
  const outer = Outer.safeParse(parseJson(body));
  if (!outer.success) return undefined;
  const { error_message: message } = outer.data;
  return typeof message === 'string' ? Inner.safeParse(parseJson(message)).data : message;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
