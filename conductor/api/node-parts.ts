import { z } from 'zod';
import { Allocation } from '#conductor/api/allocations.ts';
import { type Answer, json, links, nullableText, time, uuid, wholeNumber } from '#conductor/api/values.ts';
import { type InterfaceKind, interfaceKinds } from '#conductor/model/node-words.ts';

const Vlans = z
  .strictObject({ untagged: z.int().nullable(), tagged: z.array(z.int()) })
  .meta({ description: 'Neither = isolated.' });

export const NodeSwitchPort = z
  .strictObject({
    port_uuid: uuid,
    address: z.string(),
    switch_id: z.string(),
    port_id: z.string(),
    network: nullableText.meta({ description: 'Where Baton has put it last; null = isolated.' }),
    applied_at: time,
    looked_at: time.nullable(),
    wanted: Vlans.nullable().meta({ description: "null = Neutron's own matter." }),
    found: z
      .union([Vlans, z.literal('other')])
      .nullable()
      .meta({ description: 'other = nothing that Baton sets; null = the switch was not read, or did not answer.' }),
    wanted_bond: nullableText.meta({ description: 'The bond that Baton has made of it and others.' }),
    found_bond: nullableText,
    differs: z.boolean(),
    differences: z.array(z.string()).meta({ description: 'At Neutron: each in words; else wanted and found say it.' }),
    commands: z.array(z.string()).meta({ description: "What a repair would send, in the switch's words." }),
    error: nullableText.meta({ description: 'Why the switch could not be read.' }),
  })
  .meta({ id: 'NodeSwitchPort' });
export type NodeSwitchPort = z.infer<typeof NodeSwitchPort>;

export const NodeNetwork = z.strictObject({ ports: z.array(NodeSwitchPort) }).meta({ id: 'NodeNetwork' });
export type NodeNetworkAnswer = Answer<typeof NodeNetwork>;

/** Answers about a node's parts, its drivers, templates and volumes. `fields` chooses: most may be absent. */

export const Validation = z
  .record(z.string(), z.strictObject({ result: z.boolean().nullable(), reason: z.string().optional() }))
  .meta({ id: 'Validation', description: 'Result and reason by interface; result null = the node has none.' });

export const BootDevice = z.strictObject({ boot_device: nullableText, persistent: z.boolean().nullable() });
export const BootDevices = z.strictObject({ supported_boot_devices: z.array(z.string()) });

/** Name → what it means. */
export const Meanings = z.record(z.string(), z.string());

/** `GET /v1/fleet`. */
export const Fleet = z
  .strictObject({
    nodes: wholeNumber,
    in_maintenance: wholeNumber,
    provision_states: z
      .record(z.string(), wholeNumber)
      .meta({ description: 'Nodes by provision state, the most first.' }),
  })
  .meta({ id: 'Fleet' });
export type FleetView = Answer<typeof Fleet>;

export const Vifs = z.strictObject({ vifs: z.array(z.strictObject({ id: z.string() })) });
export const Traits = z.strictObject({ traits: z.array(z.string()) });
export type TraitsAnswer = Answer<typeof Traits>;

export const BiosSetting = z
  .strictObject({
    name: z.string(),
    value: nullableText,
    attribute_type: nullableText,
    allowable_values: z.array(z.string()).nullable(),
    lower_bound: wholeNumber.nullable(),
    max_length: wholeNumber.nullable(),
    min_length: wholeNumber.nullable(),
    read_only: z.boolean().nullable(),
    reset_required: z.boolean().nullable(),
    unique: z.boolean().nullable(),
    upper_bound: wholeNumber.nullable(),
    created_at: time,
    updated_at: time.nullable(),
    links,
  })
  .partial()
  .meta({ id: 'BiosSetting' });

export const FirmwareComponent = z
  .strictObject({
    component: z.string(),
    initial_version: nullableText,
    current_version: nullableText,
    last_version_flashed: nullableText,
    created_at: time,
    updated_at: time.nullable(),
    vendor: nullableText.optional(),
    model: nullableText.optional(),
    serial_number: nullableText.optional(),
  })
  .meta({ id: 'FirmwareComponent' });

export const Sensors = z.strictObject({
  sensors: z.array(
    z.strictObject({
      name: z.string(),
      kind: z.enum(['temperature', 'fan', 'voltage', 'current', 'power', 'other']),
      value: z.number().nullable(),
      unit: nullableText,
      health: z.enum(['ok', 'warning', 'critical']).nullable(),
    }),
  ),
});

export const EventLog = z.strictObject({
  event_log: z.array(
    z.strictObject({
      at: time.nullable(),
      severity: z.enum(['ok', 'warning', 'critical']).nullable(),
      message: z.string(),
    }),
  ),
});

const indicatorState = z.enum(['ON', 'OFF', 'BLINKING', 'UNKNOWN']);

export const Indicators = z.strictObject({
  indicators: z.array(
    z.strictObject({
      name: z.string(),
      component: z.string(),
      readonly: z.boolean(),
      states: z.array(indicatorState),
      links,
    }),
  ),
});

export const VirtualMedia = z.array(
  z.strictObject({ media_types: z.array(z.string()), inserted: z.boolean(), image: z.string().nullable() }),
);

export const IndicatorAnswer = z.strictObject({ state: indicatorState });

export const HistoryEntry = z
  .strictObject({
    uuid,
    created_at: time,
    severity: z.string(),
    event: z.string(),
    event_type: z.string().optional(),
    conductor: nullableText.optional(),
    user: nullableText.optional(),
    project: nullableText.optional(),
    state: nullableText.optional(),
    target_provision_state: nullableText.optional(),
    duration_seconds: wholeNumber.nullable().optional(),
    request_id: nullableText.optional().meta({ description: "With request_ids=true, which is Baton's own." }),
    global_request_id: nullableText.optional(),
    links,
  })
  .meta({ id: 'HistoryEntry' });
export type HistoryEntryAnswer = Answer<typeof HistoryEntry>;

export const ConsoleShell = z.strictObject({ console: z.literal('available'), during: nullableText });
const lines = z.array(z.string());

/** A subscription as Redfish has it, and Ironic's clients read it. */
export const EventSubscription = z
  .strictObject({
    Id: nullableText,
    Context: nullableText,
    Protocol: nullableText,
    Destination: nullableText,
    EventTypes: z.array(nullableText),
  })
  .meta({ id: 'EventSubscription' });
export const EventSubscriptions = z.strictObject({
  '@odata.id': nullableText,
  '@odata.type': nullableText,
  Name: nullableText,
  'Members@odata.count': wholeNumber,
  Members: z.array(z.strictObject({ '@odata.id': nullableText })),
});
export const VendorMethods = z.record(
  z.string(),
  z.strictObject({
    async: z.boolean(),
    attach: z.boolean(),
    description: z.string(),
    http_methods: z.array(z.string()),
    require_exclusive_lock: z.boolean(),
  }),
);
export const RulesPreview = z.strictObject({
  applied: lines,
  changed: lines,
  traits_added: lines,
  traits_removed: lines,
  logged: lines,
  fails: z.string().nullable(),
  faults: lines,
});
export const Inventory = z.strictObject({ inventory: json, plugin_data: json.nullable() });

/** Answer to an agent: the node that it runs on, and how it is to work. */
export const AgentLookup = z.strictObject({ node: json, config: json }).meta({ id: 'AgentLookup' });
export type AgentLookup = Answer<typeof AgentLookup>;

export const Shards = z.strictObject({ shards: z.array(z.strictObject({ name: z.string(), count: wholeNumber })) });

/** `default_…_interface` and `enabled_…_interfaces` of each kind. */
type InterfaceFields = {
  [Kind in InterfaceKind as `default_${Kind}_interface`]: z.ZodString;
} & {
  [Kind in InterfaceKind as `enabled_${Kind}_interfaces`]: z.ZodArray<z.ZodString>;
};

const interfaceFields = Object.fromEntries(
  interfaceKinds.flatMap((kind) => [
    [`default_${kind}_interface`, z.string()],
    [`enabled_${kind}_interfaces`, z.array(z.string())],
  ]),
) as InterfaceFields;

export const Driver = z
  .strictObject({
    name: z.string(),
    hosts: z.array(z.string()),
    type: z.literal('dynamic'),
    links,
    properties: links,
    ...interfaceFields,
  })
  .partial()
  .meta({ id: 'Driver' });

export type DriverAnswer = Answer<typeof Driver>;

const trialNode = { uuid, name: nullableText };
export const AllocationTrial = z
  .strictObject({
    dry_run: z.literal(true),
    nodes: z
      .array(z.strictObject({ ...trialNode, rack: nullableText }))
      .meta({ description: 'Chosen by chance among those that fit; empty when it would fail.' }),
    fitting: wholeNumber.meta({ description: 'How many fit.' }),
    error: nullableText.meta({ description: 'Why it would fail, or wait; null when it would succeed.' }),
    refused: z
      .array(z.strictObject({ ...trialNode, reasons: z.array(z.string()) }))
      .meta({ description: 'Every other node and all that stands against it.' }),
  })
  .meta({ id: 'AllocationTrial' });
export type TrialAnswer = Answer<typeof AllocationTrial>;
/** With `count` it is all of them. */
export const NewAllocation = z.union([Allocation, z.strictObject({ allocations: z.array(Allocation) })]);
