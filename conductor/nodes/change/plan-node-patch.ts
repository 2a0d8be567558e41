import { NodeDescription } from '#conductor/api/node-description.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { applyJsonPatch, type JsonPatch, parsePatched, patchRoots } from '#conductor/kernel/json-patch.ts';
import { keepMasked } from '#conductor/kernel/secrets/mask-document.ts';
import { interfaceKinds, nodeFaults } from '#conductor/model/node-words.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { inStep } from '#conductor/nodes/change/instance-name.ts';
import { requireSecretForNewRegistry } from '#conductor/nodes/change/pull-secret-way.ts';
import { refuseUnknownKeys, refuseWrongValues, requireLoginForNewAddress } from '#conductor/nodes/driver-info.ts';
import { nodeColumns, nodeNameFault } from '#conductor/nodes/node-fields.ts';
import {
  checkInterface,
  keptDeployInterface,
  keptInterfaces,
  nodeInterfaces,
} from '#conductor/nodes/node-interfaces.ts';
import type { NodeChange } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** States in which a node may be described again although it has not arrived (ironic-api.md §3.3). */
const patchableInTransition: ReadonlySet<ProvisionState> = new Set<ProvisionState>([
  'deploy failed',
  'inspecting',
  'inspect failed',
  'inspect wait',
  'clean failed',
  'error',
  'verifying',
  'adopt failed',
  'rescue failed',
  'unrescue failed',
  'service failed',
  'service hold',
]);

/** States in which driver, interfaces, and a resource class that is set may change (ironic-api.md §3.3). */
const describable: ReadonlySet<ProvisionState> = new Set<ProvisionState>([
  'enroll',
  'inspecting',
  'inspect wait',
  'manageable',
  'available',
]);

const writableFields = Object.keys(NodeDescription.shape);

/** Advice on interfaces that stay from the driver before. */
const nextOfNewDriver =
  ' Name it in the same patch, or ask with ?reset_interfaces=true for the defaults of the new driver.';

/**
 * Plans the columns that a PATCH changes. Pure.
 * @throws AppError `invalid_argument` naming the field, `conflict` when the node's state forbids it now.
 */
export function planNodePatch(
  node: NodeRow,
  patch: JsonPatch,
  options: {
    readonly version: number;
    readonly defaultNetworkInterface: string;
    readonly knownDrivers: readonly string[];
  },
): NodeChange {
  if (!(node.maintenance && isRelease(patch))) requireNoTransition(node);
  const before = describeNode(node);
  const after = parsePatched(applyJsonPatch(before, patch, writableFields), NodeDescription);
  if (after.driver === undefined)
    throw new AppError('invalid_argument', 'Cannot remove /driver: it is a required property');
  if (!options.knownDrivers.includes(after.driver)) {
    throw new AppError(
      'invalid_argument',
      `driver: no hardware type '${after.driver}'; there are ${options.knownDrivers.join(', ')}`,
    );
  }
  const given = withDefaults(after, options.defaultNetworkInterface);
  const filled = { ...given, ...inStep(given, { instance_name: node.instanceName, instance_info: node.instanceInfo }) };
  const wanted = { ...after, driver: after.driver, network_interface: filled.network_interface };
  const interfaces = keptInterfaces(after.driver, wanted);
  checkInterfaces(wanted, interfaces, node);
  checkName(filled.name, node, options.version);
  checkInstance(filled.instance_uuid, node);
  checkClass(filled.resource_class, node);
  refuseUnknownKeys(after.driver, filled.driver_info, node.driverInfo);
  refuseWrongValues(after.driver, { driverInfo: filled.driver_info, instanceInfo: filled.instance_info }, node);
  checkReasons(patch, after);
  checkFlags(filled, node);
  const change = { ...changedColumns(node, filled), ...maintenanceChange(patch, node, filled) };
  return sameInterfaces(interfaces, node) ? change : { ...change, interfaces };
}

/** Checks whether a patch only takes the instance from its node, which in maintenance is possible at any time, as in Ironic. */
function isRelease(patch: JsonPatch): boolean {
  return patch.every(({ op, path }) => op === 'remove' && path === '/instance_uuid');
}

type Description = ReturnType<typeof NodeDescription.parse>;

/** Describes the node as clients write it, its secrets sealed. */
export function describeNode(node: NodeRow): Record<string, unknown> {
  const columns = nodeColumns.map(([field, column]) => [field, node[column]]);
  const interfaces = Object.entries(nodeInterfaces(node)).map(([kind, name]) => [`${kind}_interface`, name]);
  return { ...Object.fromEntries(columns), ...Object.fromEntries(interfaces), parent_node: null };
}

/** A removed field is back at its default. */
function withDefaults(given: Description, defaultNetworkInterface: string) {
  return {
    ...given,
    name: given.name ?? null,
    driver_info: given.driver_info ?? {},
    properties: given.properties ?? {},
    extra: given.extra ?? {},
    instance_info: given.instance_info ?? {},
    network_data: given.network_data ?? {},
    instance_uuid: given.instance_uuid?.toLowerCase() ?? null,
    instance_name: given.instance_name ?? null,
    resource_class: given.resource_class ?? null,
    conductor_group: given.conductor_group ?? '',
    owner: given.owner ?? null,
    lessee: given.lessee ?? null,
    description: given.description ?? null,
    shard: given.shard ?? null,
    chassis_uuid: given.chassis_uuid ?? null,
    automated_clean: given.automated_clean ?? null,
    protected: given.protected ?? false,
    protected_reason: given.protected ? (given.protected_reason ?? null) : null,
    retired: given.retired ?? false,
    retired_reason: given.retired ? (given.retired_reason ?? null) : null,
    disable_power_off: given.disable_power_off ?? false,
    maintenance: given.maintenance ?? false,
    network_interface: given.network_interface ?? defaultNetworkInterface,
    deploy_interface: keptDeployInterface(given.driver ?? '', given.deploy_interface),
  };
}
type FilledDescription = ReturnType<typeof withDefaults>;

type WantedInterfaces = Description & { readonly driver: string; readonly network_interface: string };

function sameInterfaces(interfaces: Readonly<Record<string, string>>, node: NodeRow): boolean {
  return interfaceKinds.every((kind) => interfaces[kind] === node.interfaces[kind]);
}

function checkInterfaces(after: WantedInterfaces, interfaces: Readonly<Record<string, string>>, node: NodeRow): void {
  const unchangedDriver = after.driver === node.driver;
  const unchanged =
    unchangedDriver &&
    after.network_interface === node.networkInterface &&
    keptDeployInterface(after.driver, after.deploy_interface) === node.deployInterface &&
    sameInterfaces(interfaces, node);
  for (const kind of interfaceKinds) {
    const name = after[`${kind}_interface`];
    if (name) checkInterface(after.driver, kind, name, unchangedDriver ? '' : nextOfNewDriver);
  }
  if (unchanged || node.maintenance || describable.has(node.provisionState)) return;
  throw new AppError(
    'conflict',
    `Node ${node.uuid}: driver and interfaces can only be changed in maintenance or in ${[...describable].join(', ')}; ` +
      `it is in '${node.provisionState}'.`,
  );
}

function checkName(name: string | null, node: NodeRow, version: number): void {
  const fault = name !== null && name !== node.name ? nodeNameFault(name, version) : undefined;
  if (fault) throw new AppError('invalid_argument', `Cannot change name of node ${node.uuid} to '${name}': ${fault}.`);
}

function checkInstance(instanceUuid: string | null, node: NodeRow): void {
  if (instanceUuid === null || node.instanceUuid === null || instanceUuid === node.instanceUuid) return;
  throw new AppError(
    'conflict',
    `Node ${node.uuid} is associated with instance ${node.instanceUuid}; remove that first.`,
  );
}

function checkClass(resourceClass: string | null, node: NodeRow): void {
  if (node.resourceClass === null || resourceClass === node.resourceClass) return;
  if (describable.has(node.provisionState)) return;
  throw new AppError(
    'conflict',
    `Node ${node.uuid} can not have resource_class changed unless it is in one of the states: ` +
      `${[...describable].join(', ')}; it is in '${node.provisionState}'.`,
  );
}

function checkReasons(patch: JsonPatch, after: Description): void {
  for (const flag of ['protected', 'retired'] as const) {
    if (after[`${flag}_reason`] && !after[flag] && patchRoots(patch).includes(`${flag}_reason`)) {
      throw new AppError('invalid_argument', `${flag}_reason: it can only be set while ${flag} is true.`);
    }
  }
}

function checkFlags(after: FilledDescription, node: NodeRow): void {
  if (after.protected && !node.protected && node.provisionState !== 'active' && node.provisionState !== 'rescue') {
    throw new AppError(
      'conflict',
      `Node ${node.uuid} can only be protected in 'active' or 'rescue', it is in '${node.provisionState}'.`,
    );
  }
  if (after.retired && !node.retired && node.provisionState === 'available') {
    throw new AppError('conflict', `Node ${node.uuid} can not be retired in 'available': make it 'manageable' first.`);
  }
}

function changedColumns(node: NodeRow, after: FilledDescription): NodeChange {
  const secretsKept = {
    ...after,
    driver_info: keepMasked(after.driver_info, node.driverInfo),
    instance_info: keepMasked(after.instance_info, node.instanceInfo),
    properties: keepMasked(after.properties, node.properties),
  };
  requireLoginForNewAddress('driver_info', secretsKept.driver_info, node.driverInfo);
  requireSecretForNewRegistry(secretsKept.instance_info, node.instanceInfo);
  const changes = nodeColumns
    .map(([field, column]) => [column, secretsKept[field]] as const)
    .filter(([column, value]) => JSON.stringify(value) !== JSON.stringify(node[column]));
  return Object.fromEntries(changes) as NodeChange;
}

/** @throws AppError `conflict` while a flow may be reading what would be changed. */
export function requireNoTransition(node: NodeRow): void {
  if (!node.targetProvisionState || patchableInTransition.has(node.provisionState)) return;
  throw new AppError(
    'conflict',
    `Node ${node.uuid} can not be updated while a state transition is in progress ` +
      `(${node.provisionState} → ${node.targetProvisionState}).`,
  );
}

/**
 * Makes the change of maintenance. Maintenance that an operator sets has no fault, so that no conductor ends it; a restored
 * node stays one until it ends.
 */
function maintenanceChange(patch: JsonPatch, node: NodeRow, after: FilledDescription): NodeChange {
  if (!patchRoots(patch).includes('maintenance')) return {};
  const staysRestored = after.maintenance && node.fault === nodeFaults.restored;
  return {
    ...(node.fault === null || staysRestored ? {} : { fault: null }),
    ...(node.maintenance && !after.maintenance ? { maintenanceReason: null } : {}),
  };
}
