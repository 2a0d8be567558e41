import { z } from 'zod';
import { type AllocationField, allocationStates } from '#conductor/allocations/allocation-fields.ts';
import type { ChassisField } from '#conductor/chassis/chassis-fields.ts';
import type { FlowView } from '#conductor/flows/flow-view.ts';
import type { PlanView } from '#conductor/flows/view-plan.ts';
import type { StatusObject } from '#conductor/http/status-object.ts';
import type { NodeField } from '#conductor/nodes/node-fields.ts';
import { type InterfaceKind, interfaceKinds } from '#conductor/nodes/node-interfaces.ts';
import type { PortField } from '#conductor/nodes/port-fields.ts';
import { powerTargets } from '#conductor/nodes/power-states.ts';
import { provisionStates } from '#conductor/nodes/provision-states.ts';
import type { PortgroupField } from '#conductor/portgroups/portgroup-fields.ts';

/**
 * What the API answers, for its description (`api-document.ts`). Answers are put together field by field, as the
 * microversion and `fields` have it, and are not parsed by these: a test holds them against real answers instead.
 */

const uuid = z.guid();
const time = z.string().meta({ description: '2026-11-21T07:35:42.609000+00:00' });
const line = z.string().nullable();
const json = z.record(z.string(), z.unknown());
const whole = z.number().int();
const Link = z.object({ href: z.string(), rel: z.string() });
const links = z.array(Link);
const masked = json.meta({ description: 'Secrets read ******, and written back so they stay what they were.' });
const step = json.meta({ description: 'The step under way: interface, step, args, priority; {} when there is none.' });

const interfaceNames = Object.fromEntries(interfaceKinds.map((kind) => [`${kind}_interface`, z.string()])) as Record<
  `${InterfaceKind}_interface`,
  z.ZodString
>;

const nodeFields: Record<NodeField, z.ZodType> = {
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
  description: line,
  driver: z.string(),
  driver_info: masked,
  driver_internal_info: json.meta({ description: 'What clients read of it: agent_url, agent_version and their like.' }),
  extra: json,
  fault: line.meta({ description: 'Why a conductor has set maintenance: power failure, clean failure …' }),
  inspection_finished_at: time.nullable(),
  inspection_started_at: time.nullable(),
  instance_info: masked,
  instance_name: line,
  instance_uuid: uuid.nullable(),
  last_error: line,
  lessee: line,
  maintenance: z.boolean(),
  maintenance_reason: line,
  name: line,
  network_data: json,
  owner: line,
  parent_node: z.null(),
  power_state: z.enum(['power on', 'power off']).nullable(),
  properties: json,
  protected: z.boolean(),
  protected_reason: line,
  provision_state: z.enum(provisionStates),
  provision_updated_at: time,
  raid_config: json,
  reservation: line.meta({ description: 'The conductor that works on the node.' }),
  resource_class: line,
  retired: z.boolean(),
  retired_reason: line,
  secure_boot: z.boolean().nullable().meta({ description: 'As last read from the BMC.' }),
  service_step: step,
  shard: line,
  target_power_state: z.enum(powerTargets).nullable(),
  target_provision_state: z.enum(provisionStates).nullable(),
  target_raid_config: json,
  traits: z.array(z.string()),
  conductor: line,
  allocation_uuid: uuid.nullable(),
  chassis_uuid: uuid.nullable(),
};

/** Every field may be absent: `fields` chooses, and a microversion leaves out what is newer. */
const Node = z
  .strictObject({ ...nodeFields, links, ports: links, states: links, portgroups: links, volume: links })
  .partial();

const portFields: Record<PortField, z.ZodType> = {
  uuid,
  created_at: time,
  updated_at: time.nullable(),
  address: z.string().meta({ description: 'MAC address, lower case' }),
  extra: json,
  internal_info: json,
  is_smartnic: z.boolean(),
  local_link_connection: json.meta({ description: 'switch_id and port_id say where it is plugged in.' }),
  physical_network: line,
  pxe_enabled: z.boolean(),
  node_uuid: uuid,
  name: line,
  description: line,
  portgroup_uuid: uuid.nullable(),
};
const Port = z.strictObject({ ...portFields, links }).partial();

const portgroupFields: Record<PortgroupField, z.ZodType> = {
  uuid,
  created_at: time,
  updated_at: time.nullable(),
  address: line,
  extra: json,
  internal_info: json,
  mode: z.string(),
  name: line,
  properties: json,
  standalone_ports_supported: z.boolean(),
  node_uuid: uuid,
};
const Portgroup = z.strictObject({ ...portgroupFields, links, ports: links }).partial();

const chassisFields: Record<ChassisField, z.ZodType> = {
  uuid,
  created_at: time,
  updated_at: time.nullable(),
  description: line,
  extra: json,
};
const Chassis = z.strictObject({ ...chassisFields, links, nodes: links }).partial();

const allocationFields: Record<AllocationField, z.ZodType> = {
  uuid,
  created_at: time,
  updated_at: time.nullable(),
  name: line,
  node_uuid: uuid.nullable(),
  state: z.enum(allocationStates),
  last_error: line,
  resource_class: line,
  traits: z.array(z.string()),
  candidate_nodes: z.array(z.string()),
  extra: json,
  owner: line,
  wait_until: time.nullable(),
  waiting_for: line,
  group_uuid: uuid.nullable(),
};
const Allocation = z.strictObject({ ...allocationFields, links }).partial();

const plugin = z
  .strictObject({
    plugin: z.string(),
    version: z.string(),
    task: whole,
    stage: z.enum(['pre_deployment', 'post_deployment']),
    place: z.string().meta({ description: 'The stage as tasks.yaml has it: post_deployment/100.' }),
    timeout: z.number().optional(),
  })
  .nullable()
  .meta({ description: 'The plugin’s task that the step is.' });

const Flow: z.ZodType<FlowView> = z.strictObject({
  uuid,
  kind: z.string(),
  state: z.string(),
  started_at: time,
  ended_at: time.nullable(),
  error: line,
  held: line.meta({ description: 'Why nobody works on it.' }),
  on_hold: line.meta({ description: 'What it rests for until unhold.' }),
  abort_requested: line.meta({ description: 'Who has said stop, while a step runs that must end first.' }),
  restarts: whole,
  advice: line.meta({ description: 'What to do next, for a flow that has failed, rests, or waits for too long.' }),
  steps: z.array(
    z.strictObject({
      uuid,
      position: whole,
      phase: z.string(),
      interface: z.string(),
      step: z.string(),
      priority: whole,
      origin: z.string(),
      plugin,
      reason: z.string().meta({ description: 'Why it stands there.' }),
      in_band: z.boolean(),
      state: z.string(),
      started_at: time.nullable(),
      ended_at: time.nullable(),
      waiting_for: line,
      wait_until: time.nullable(),
      progress: z.unknown(),
      error: line,
    }),
  ),
});

const seconds = z.number().nullable();
const Plan: z.ZodType<PlanView> = z.strictObject({
  node: uuid,
  kind: z.string(),
  hash: z.string().meta({ description: 'As plan_hash of a provision request, it refuses any other plan.' }),
  complete: z.boolean().meta({ description: "The agent's steps are known; else more may come." }),
  boot_mode: z.string(),
  reboots: whole,
  predicted_seconds: seconds,
  destroys: z.array(
    z.strictObject({
      name: z.string(),
      serial: line,
      model: line,
      size_bytes: whole.nullable(),
      contents: z.array(z.string()),
      by: z.array(z.string()),
    }),
  ),
  steps: z.array(
    z.strictObject({
      position: whole,
      interface: z.string(),
      step: z.string(),
      priority: whole,
      origin: z.string(),
      in_band: z.boolean(),
      args: z.unknown(),
      reboot_requested: z.boolean(),
      abortable: z.boolean(),
      plugin,
      reason: z.string(),
      predicted_seconds: seconds,
    }),
  ),
  warnings: z.array(z.string()),
});

/** The form of every error; the text inside is what operators read. */
const Fault = z.strictObject({
  error_message: z.string().meta({
    description:
      'A JSON document as text: {"faultcode": "Client" or "Server", "faultstring": …, "debuginfo": null}; ' +
      '{"code", "title", "description"} when the path or the version is not served.',
  }),
});

/** The form of every error below `/api/`, and of what is answered to an upload or a commit of documents. */
const Status: z.ZodType<StatusObject> = z.strictObject({
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
        path: line.exactOptional().meta({ description: 'Within the document: data.groups[2].critical.' }),
      }),
    ),
    revision: whole.exactOptional().meta({ description: "Of the site's documents." }),
  }),
  code: whole.meta({ description: 'The HTTP status.' }),
  retry: z.literal(true).exactOptional().meta({ description: 'The same request may succeed later.' }),
});

const States = z.strictObject({
  power_state: nodeFields.power_state,
  target_power_state: nodeFields.target_power_state,
  provision_state: nodeFields.provision_state,
  target_provision_state: nodeFields.target_provision_state,
  provision_updated_at: nodeFields.provision_updated_at,
  last_error: nodeFields.last_error,
  console_enabled: nodeFields.console_enabled,
  raid_config: nodeFields.raid_config.optional(),
  target_raid_config: nodeFields.target_raid_config.optional(),
  boot_mode: nodeFields.boot_mode.optional(),
  secure_boot: nodeFields.secure_boot.optional(),
});

/** The parts of answers that have a name in the description. */
export const answerSchemas = { Node, States, Port, Portgroup, Chassis, Allocation, Flow, Plan, Fault, Status } as const;
export type AnswerName = keyof typeof answerSchemas;

/** `GET /v1/nodes` → one of these objects, or a page of them under that key. */
export const answersByOperation: Readonly<
  Record<string, AnswerName | { readonly key: string; readonly of: AnswerName }>
> = {
  'GET /v1/nodes': { key: 'nodes', of: 'Node' },
  'GET /v1/nodes/detail': { key: 'nodes', of: 'Node' },
  'POST /v1/nodes': 'Node',
  'GET /v1/nodes/{node}': 'Node',
  'PATCH /v1/nodes/{node}': 'Node',
  'GET /v1/nodes/{node}/states': 'States',
  'GET /v1/nodes/{node}/flow': 'Flow',
  'POST /v1/nodes/{node}/plan': 'Plan',
  'GET /v1/nodes/{node}/ports': { key: 'ports', of: 'Port' },
  'GET /v1/nodes/{node}/portgroups': { key: 'portgroups', of: 'Portgroup' },
  'GET /v1/nodes/{node}/allocation': 'Allocation',
  'GET /v1/ports': { key: 'ports', of: 'Port' },
  'GET /v1/ports/detail': { key: 'ports', of: 'Port' },
  'POST /v1/ports': 'Port',
  'GET /v1/ports/{port}': 'Port',
  'PATCH /v1/ports/{port}': 'Port',
  'GET /v1/portgroups': { key: 'portgroups', of: 'Portgroup' },
  'GET /v1/portgroups/detail': { key: 'portgroups', of: 'Portgroup' },
  'POST /v1/portgroups': 'Portgroup',
  'GET /v1/portgroups/{portgroup}': 'Portgroup',
  'PATCH /v1/portgroups/{portgroup}': 'Portgroup',
  'GET /v1/portgroups/{portgroup}/ports': { key: 'ports', of: 'Port' },
  'GET /v1/chassis': { key: 'chassis', of: 'Chassis' },
  'GET /v1/chassis/detail': { key: 'chassis', of: 'Chassis' },
  'POST /v1/chassis': 'Chassis',
  'GET /v1/chassis/{chassis}': 'Chassis',
  'PATCH /v1/chassis/{chassis}': 'Chassis',
  'GET /v1/chassis/{chassis}/nodes': { key: 'nodes', of: 'Node' },
  'GET /v1/chassis/{chassis}/nodes/detail': { key: 'nodes', of: 'Node' },
  'POST /api/v1.0/configdocs/{collection}': 'Status',
  'POST /api/v1.0/commitconfigdocs': 'Status',
  'GET /v1/allocations': { key: 'allocations', of: 'Allocation' },
  'GET /v1/allocations/{allocation}': 'Allocation',
  'PATCH /v1/allocations/{allocation}': 'Allocation',
};
