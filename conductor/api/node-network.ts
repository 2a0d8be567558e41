import { z } from 'zod';
import { line, time, uuid } from '#conductor/api/values.ts';

const Vlans = z
  .strictObject({ untagged: z.int().nullable(), tagged: z.array(z.int()) })
  .meta({ description: 'Neither = isolated.' });

export const NodeSwitchPort = z
  .strictObject({
    port_uuid: uuid,
    address: z.string(),
    switch_id: z.string(),
    port_id: z.string(),
    network: line.meta({ description: 'Where Baton has put it last; null = isolated.' }),
    applied_at: time,
    looked_at: time.nullable(),
    wanted: Vlans,
    found: z
      .union([Vlans, z.literal('other')])
      .nullable()
      .meta({ description: 'other = nothing that Baton sets; null = the switch was not read, or did not answer.' }),
    wanted_bond: line.meta({ description: 'The bond that Baton has made of it and others.' }),
    found_bond: line,
    differs: z.boolean(),
    commands: z.array(z.string()).meta({ description: "What a repair would send, in the switch's words." }),
    error: line.meta({ description: 'Why the switch could not be read.' }),
  })
  .meta({ id: 'NodeSwitchPort' });
export type NodeSwitchPort = z.infer<typeof NodeSwitchPort>;

export const NodeNetwork = z.strictObject({ ports: z.array(NodeSwitchPort) }).meta({ id: 'NodeNetwork' });
