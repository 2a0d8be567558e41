import { z } from 'zod';

const Inner = z.object({ faultstring: z.string().optional(), description: z.string().optional() });
const Outer = z.object({ error_message: z.union([z.string(), Inner]) });

const Status = z.object({ kind: z.literal('Status'), message: z.string() });

/** The message of a Status object, which a site's API answers; else the text of Ironic's error body. */
export function readFault(body: string): string | undefined {
  const status = Status.safeParse(parseJson(body));
  return status.success ? status.data.message : readIronicFault(body);
}

/**
 * The text of an Ironic error body: a JSON document inside a JSON document, `{"error_message": "{\"faultstring\": …}"}`,
 * or the object itself. `undefined` for anything else.
 */
function readIronicFault(body: string): string | undefined {
  const outer = Outer.safeParse(parseJson(body));
  if (!outer.success) return undefined;
  const { error_message: message } = outer.data;
  const inner = typeof message === 'string' ? Inner.safeParse(parseJson(message)).data : message;
  return inner?.faultstring ?? inner?.description;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
