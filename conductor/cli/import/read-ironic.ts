import { type Fleet, type FleetNode, givenFields, objectIn, textIn } from '#conductor/cli/import/fleet.ts';
import type { IronicClient } from '#conductor/cli/import/ironic-client.ts';
import type { DriverSecrets } from '#conductor/cli/import/ironic-secrets.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { interfaceKinds } from '#conductor/model/node-words.ts';

/** Fields of a node that are the same here and there. */
const nodeFields = (
  'uuid name driver properties extra instance_info network_data resource_class owner lessee description shard ' +
  'automated_clean protected protected_reason retired retired_reason disable_power_off instance_name conductor_group'
)
  .split(' ')
  .concat(interfaceKinds.map((kind) => `${kind}_interface`));
const portFields =
  'address extra local_link_connection physical_network pxe_enabled is_smartnic name description vendor category'.split(
    ' ',
  );
const portgroupFields = [
  'address',
  'extra',
  'mode',
  'name',
  'properties',
  'standalone_ports_supported',
  'physical_network',
  'category',
];

const goals: Readonly<Record<string, FleetNode['goal']>> = {
  active: 'active',
  available: 'manageable',
  manageable: 'manageable',
  enroll: 'enroll',
  // a person has to look at these machines, and nobody asks their BMCs before
  ...Object.fromEntries(
    ['clean failed', 'inspect failed', 'adopt failed', 'deploy failed', 'error'].map((state) => [state, 'enroll']),
  ),
};

/** Reads everything that Baton has a place for, in a few requests for each thousand nodes. */
export async function readIronic(client: IronicClient, source: string, secrets: DriverSecrets): Promise<Fleet> {
  const [nodes, ports, portgroups, allocations, templates] = [
    await client.list('/v1/nodes/detail', 'nodes', { isRequired: true }),
    await client.list('/v1/ports/detail', 'ports', { isRequired: true }),
    await client.list('/v1/portgroups/detail', 'portgroups'),
    await client.list('/v1/allocations', 'allocations'),
    await client.list('/v1/deploy_templates?detail=true', 'deploy_templates'),
  ];
  const byNode = (rows: readonly Json[]) => Map.groupBy(rows, (row) => textIn(row, 'node_uuid') ?? '');
  const facts = { ports: byNode(ports), portgroups: byNode(portgroups), allocations: byNode(allocations), secrets };
  return {
    source,
    nodes: nodes.map((node) => readNode(node, facts)),
    templates: templates.map((each) => ({
      ...givenFields({ uuid: each['uuid'], steps: each['steps'], extra: each['extra'] }),
      name: textIn(each, 'name') ?? '',
    })),
    left: await describeRest(client),
  };
}

interface Facts {
  readonly ports: ReadonlyMap<string, readonly Json[]>;
  readonly portgroups: ReadonlyMap<string, readonly Json[]>;
  readonly allocations: ReadonlyMap<string, readonly Json[]>;
  readonly secrets: DriverSecrets;
}

function readNode(node: Json, facts: Facts): FleetNode {
  const uuid = textIn(node, 'uuid') ?? '';
  const name = textIn(node, 'name') ?? uuid;
  const state = textIn(node, 'provision_state') ?? '';
  const goal = goals[state];
  const groups = (facts.portgroups.get(uuid) ?? []).map((group) => ({
    uuid: textIn(group, 'uuid'),
    name: textIn(group, 'name') ?? `group-${textIn(group, 'uuid')?.slice(0, 8)}`,
    fields: pick(group, portgroupFields),
  }));
  const ports = facts.ports.get(uuid) ?? [];
  const allocation = facts.allocations.get(uuid)?.[0];
  const info = { ...objectIn(node, 'driver_info'), ...(facts.secrets.get(uuid) ?? facts.secrets.get(name)) };
  return {
    name,
    driver: textIn(node, 'driver') ?? '',
    fields: givenFields({
      ...pick(node, nodeFields),
      driver_info: info,
      // of an allocation it is the allocation's, which sets it here too
      instance_uuid: allocation ? undefined : node['instance_uuid'],
      conductor_group: textIn(node, 'conductor_group'),
    }),
    traits: (Array.isArray(node['traits']) ? (node['traits'] as unknown[]) : []).map(String),
    ports: ports.map((port) => ({
      address: textIn(port, 'address') ?? '',
      portgroup: groups.find((group) => group.uuid !== undefined && group.uuid === port['portgroup_uuid'])?.name,
      fields: pick(port, portFields),
    })),
    portgroups: groups.map(({ name: groupName, fields }) => ({
      name: groupName,
      fields: { ...fields, name: groupName },
    })),
    stateThere: state,
    goal: goal ?? 'enroll',
    ...(node['maintenance'] === true ? { maintenance: { reason: textIn(node, 'maintenance_reason') } } : {}),
    ...(allocation ? { allocation: readAllocation(allocation) } : {}),
    left: describeNodeRest(node, ports),
    ...(goal === undefined ? { refused: `it is in ${state} there: let that end, or abort it` } : {}),
  };
}

function readAllocation(allocation: Json): NonNullable<FleetNode['allocation']> {
  const { name, owner, traits, extra, resource_class } = allocation;
  return { ...givenFields({ name, owner, traits, extra, resource_class }), uuid: textIn(allocation, 'uuid') ?? '' };
}

function describeNodeRest(node: Json, ports: readonly Json[]): string[] {
  const vifs = ports.filter((port) => textIn(port, 'internal_info', 'tenant_vif_port_id') !== undefined).length;
  return [
    ...(textIn(node, 'parent_node') === undefined ? [] : ['parent_node']),
    ...(textIn(node, 'chassis_uuid') === undefined ? [] : ['chassis_uuid']),
    ...(Object.keys(objectIn(node, 'target_raid_config')).length === 0 ? [] : ['target_raid_config']),
    ...(vifs === 0 ? [] : [`${vifs} VIF (ports stay as they are until the next deploy)`]),
  ];
}

const others = [
  ['/v1/chassis', 'chassis', 'chassis'],
  ['/v1/volume/connectors', 'connectors', 'volume connectors'],
  ['/v1/volume/targets', 'targets', 'volume targets'],
  ['/v1/runbooks', 'runbooks', 'runbooks'],
  ['/v1/inspection_rules', 'inspection_rules', 'inspection rules'],
] as const;

async function describeRest(client: IronicClient): Promise<string[]> {
  const counted = await Promise.all(
    others.map(async ([path, key, words]) => [(await client.list(path, key)).length, words] as const),
  );
  return [
    ...counted.flatMap(([count, words]) => (count === 0 ? [] : [`${words}: ${count}`])),
    'history, inventories, firmware components and BIOS settings: an inspection reads them again',
  ];
}

function pick(object: Json, keys: readonly string[]): Json {
  return givenFields(Object.fromEntries(keys.map((key) => [key, object[key]])));
}
