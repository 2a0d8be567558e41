import { z } from 'zod';
import { Attestation } from '#conductor/api/attestation.ts';
import { FlowSummary } from '#conductor/api/flows.ts';
import type { FleetNodeField } from '#conductor/model/fleet-node.ts';

const text = z.string().nullable();

/** The event `node`: the node as it is now. */
export const FleetNode = z.strictObject({
  uuid: z.string(),
  name: text,
  provision_state: z.string(),
  power_state: text,
  health: text.meta({ description: 'OK, Warning or Critical, as the BMC last said; null = not known.' }),
  maintenance: z.boolean(),
  maintenance_reason: text,
  fault: text,
  last_error: text,
  resource_class: text,
  driver: z.string(),
  conductor_group: z.string(),
  rack: text,
  rack_unit: z.number().nullable().meta({ description: 'The lowest that the machine fills, from 1 at the bottom.' }),
  image: text.meta({ description: 'Name of the image that is or will be deployed: the last part of its address.' }),
  traits: z.array(z.string()),
  owner: text,
  attestation: Attestation.nullable().meta({ description: 'null = no boot was attested, or it is not shown to you.' }),
} satisfies Record<FleetNodeField, z.ZodType>);

/** `data` of `GET /v1/events`, by the kind of event; the board and every other reader get these. */
export const fleetEvents = {
  node: FleetNode,
  flow: FlowSummary,
  action: z.strictObject({ id: z.string(), name: z.string(), state: z.string(), error: text }),
  gone: z.strictObject({ kind: z.enum(['node', 'flow', 'action']), uuid: z.string() }),
  hello: z.strictObject({}),
  reload: z.strictObject({}),
  beat: z.strictObject({}),
  logout: z.strictObject({}),
  bye: z.strictObject({}),
} as const;

export type FleetEvents = { readonly [Kind in keyof typeof fleetEvents]: z.output<(typeof fleetEvents)[Kind]> };
