import { z } from 'zod';
import { looseBoolean } from '#conductor/api/node-description.ts';

/** `true`, `yes`, `1` … as Ironic takes them. */
export const queryFlag = looseBoolean.optional();

/** `fields=uuid,name`, or `fields=uuid&fields=name` as gophercloud 0.12 sends it. */
export const fieldsQuery = z.union([z.string(), z.array(z.string()).transform((names) => names.join(','))]).optional();

/** `{node}` in a path: UUID or name. */
export const NodeParams = z.object({ node: z.string() });

/**
 * A success answer: its schema is what clients rely on, and tests hold every answer against it; without one it has no body.
 */
export function answers(
  status: 200 | 201 | 202 | 204,
  description: string,
  schema?: z.ZodType,
  type = 'application/json',
): Record<number, { description: string }> {
  return { [status]: { description, ...(schema ? { content: { [type]: { schema } } } : {}) } };
}

/** An answer that is no JSON: text, or a file. */
export function answersOther(status: 200, description: string, type: string) {
  return answers(status, description, z.string(), type);
}

/** A JSON body that must be there. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { content: { 'application/json': { schema } }, required: true as const };
}
