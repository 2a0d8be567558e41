import { z } from 'zod';
import { looseBoolean } from '#conductor/api/node-description.ts';

/** `true`, `yes`, `1` … as Ironic takes them. */
export const queryFlag = looseBoolean.optional();

/** `fields=uuid,name`, or `fields=uuid&fields=name` as gophercloud 0.12 sends it. */
export const fieldsQuery = z.union([z.string(), z.array(z.string()).transform((names) => names.join(','))]).optional();

/** `{node}` in a path: UUID or name. */
export const NodeParams = z.object({ node: z.string() });

export const PortParams = z.object({ port: z.string() });

/** For answers without a schema of their own: the clients' contract is Ironic's. */
export function answers(status: 200 | 201 | 202 | 204, description: string) {
  return { [status]: { description } };
}

/** A JSON body that must be there. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { content: { 'application/json': { schema } }, required: true as const };
}
