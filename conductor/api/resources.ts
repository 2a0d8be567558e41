import { z } from 'zod';
import { type Answer, json, links, nullableText, time, uuid } from '#conductor/api/values.ts';
import { type InterfaceKind, interfaceKinds, type NodeField } from '#conductor/model/node-words.ts';
import { powerTargets } from '#conductor/model/power-and-boot.ts';
import { provisionStates } from '#conductor/model/provision-states.ts';

/** Ironic's resources, as they are answered. */

const masked = json.meta({ description: 'Secrets read ******, and written back so they stay what they were.' });
const step = json.meta({ description: 'The step under way: interface, step, args, priority; {} when there is none.' });

const interfaceNames = Object.fromEntries(interfaceKinds.map((kind) => [`${kind}_interface`, z.string()])) as Record<
  `${InterfaceKind}_interface`,
  z.ZodString
>;

const nodeFields = {
  uuid,
  created_at: time,
  updated_at: time.nullable(),
  ...interfaceNames,
  automated_clean: z.boolean().nullable(),
  boot_mode: z.enum(['uefi', 'bios']).nullable().meta({ description: 'As last read from the BMC.' }),
  clean_step: step,
  conductor_group: z.string(),
  console_enabled: z.boolean(),
  disable_power_off: z.boolean(),
  deploy_step: step,
  description: nullableText,
  driver: z.string(),
  driver_info: masked,
  driver_internal_info: json.meta({ description: 'What clients read of it: agent_url, agent_version and their like.' }),
  extra: json,
  fault: nullableText.meta({ description: 'Why a conductor has set maintenance: power failure, clean failure …' }),
  health: z.enum(['OK', 'Warning', 'Critical']).nullable().meta({ description: 'As last read from the BMC.' }),
  inspection_finished_at: time.nullable(),
  inspection_started_at: time.nullable(),
  instance_info: masked,
  instance_name: nullableText,
  instance_uuid: uuid.nullable(),
  last_error: nullableText,
  lessee: nullableText,
  maintenance: z.boolean(),
  maintenance_reason: nullableText,
  name: nullableText,
  network_data: json,
  owner: nullableText,
  parent_node: z.null(),
  power_state: z.enum(['power on', 'power off']).nullable(),
  properties: json,
  protected: z.boolean(),
  protected_reason: nullableText,
  provision_state: z.enum(provisionStates),
  provision_updated_at: time,
  raid_config: json,
  reservation: nullableText.meta({ description: 'The conductor that works on the node.' }),
  resource_class: nullableText,
  retired: z.boolean(),
  retired_reason: nullableText,
  secure_boot: z.boolean().nullable().meta({ description: 'As last read from the BMC.' }),
  service_step: step,
  shard: nullableText,
  target_power_state: z.enum(powerTargets).nullable(),
  target_provision_state: z.enum(provisionStates).nullable(),
  target_raid_config: json,
  traits: z.array(z.string()),
  conductor: nullableText,
  allocation_uuid: uuid.nullable(),
  chassis_uuid: uuid.nullable(),
} satisfies Record<NodeField, z.ZodType>;

/** Every field may be absent: `fields` chooses, and a microversion leaves out what is newer. */
export const Node = z
  .strictObject({ ...nodeFields, links, ports: links, states: links, portgroups: links, volume: links })
  .partial()
  .meta({ id: 'Node' });

export type NodeAnswer = Answer<typeof Node>;

export const States = z
  .strictObject({
    power_state: nodeFields.power_state,
    target_power_state: nodeFields.target_power_state,
    provision_state: nodeFields.provision_state.nullable().meta({ description: 'null = available, before 1.2.' }),
    target_provision_state: nodeFields.target_provision_state,
    provision_updated_at: nodeFields.provision_updated_at,
    last_error: nodeFields.last_error,
    console_enabled: nodeFields.console_enabled,
    raid_config: nodeFields.raid_config.optional(),
    target_raid_config: nodeFields.target_raid_config.optional(),
    boot_mode: nodeFields.boot_mode.optional(),
    secure_boot: nodeFields.secure_boot.optional(),
  })
  .meta({ id: 'States' });
