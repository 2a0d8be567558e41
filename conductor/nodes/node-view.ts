import type { AgentSessionRow } from '#conductor/db/schema/agent-session.ts';
import type { FlowStepRow } from '#conductor/db/schema/flow.ts';
import type { JsonObject, NodeRow } from '#conductor/db/schema/node.ts';
import type { FlowKindName } from '#conductor/flows/flow-states.ts';
import { type NodeField, nodeFieldVersions } from '#conductor/nodes/node-fields.ts';
import { nodeInterfaces } from '#conductor/nodes/node-interfaces.ts';
import { mask, maskDocument } from '#conductor/secrets/mask-document.ts';

/** What the API shows of a node beside its row (`node-surroundings.ts` reads it). */
export interface NodeSurroundings {
  /** Holder of an unexpired lease. */
  readonly reservation: string | undefined;
  readonly traits: readonly string[];
  readonly currentStep:
    | (Pick<FlowStepRow, 'interface' | 'step' | 'args' | 'priority'> & { kind: FlowKindName })
    | undefined;
  readonly agent: AgentSessionRow | undefined;
}

export interface NodeViewOptions {
  /** Minor of the microversion in use: newer fields are left out. */
  readonly version: number;
  /** All that the version has when absent. */
  readonly fields?: readonly NodeField[] | undefined;
  readonly conductorName: string;
}

/** The node as Ironic's API shows it, without links. Pure. */
export function viewNode(
  node: NodeRow,
  surroundings: NodeSurroundings,
  options: NodeViewOptions,
): Record<string, unknown> {
  const values = allFields(node, surroundings, options);
  const names = options.fields ?? (Object.keys(nodeFieldVersions) as NodeField[]);
  return Object.fromEntries(
    names.filter((name) => nodeFieldVersions[name] <= options.version).map((name) => [name, values[name]]),
  );
}

/** `2026-11-21T07:35:42.609000+00:00`, as Ironic writes times. */
export function apiTime(time: Date | null | undefined): string | null {
  return time ? time.toISOString().replace('Z', '000+00:00') : null;
}

function allFields(
  node: NodeRow,
  surroundings: NodeSurroundings,
  options: NodeViewOptions,
): Record<NodeField, unknown> {
  return {
    ...described(node),
    ...interfaceFields(node),
    ...stepFields(surroundings.currentStep),
    uuid: node.uuid,
    created_at: apiTime(node.createdAt),
    updated_at: apiTime(node.updatedAt),
    power_state: node.powerState,
    target_power_state: node.targetPowerState,
    provision_state: node.provisionState,
    target_provision_state: node.targetProvisionState,
    provision_updated_at: apiTime(node.provisionUpdatedAt),
    last_error: node.lastError,
    fault: node.fault,
    inspection_started_at: apiTime(node.inspectionStartedAt),
    inspection_finished_at: apiTime(node.inspectionFinishedAt),
    reservation: surroundings.reservation ?? null,
    traits: surroundings.traits,
    conductor: options.conductorName,
    chassis_uuid: node.chassisUuid,
    boot_mode: node.bootMode,
    secure_boot: node.secureBoot,
    raid_config: node.raidConfig,
    target_raid_config: node.targetRaidConfig,
    driver_internal_info: internalInfo(surroundings.agent),
    allocation_uuid: node.allocationUuid,
    // Baton has no data for these
    parent_node: null,
    console_enabled: false,
  };
}

function described(node: NodeRow) {
  return {
    name: node.name,
    driver: node.driver,
    driver_info: maskDocument(node.driverInfo),
    properties: maskDocument(node.properties),
    extra: node.extra,
    instance_info: maskDocument(node.instanceInfo),
    network_data: node.networkData,
    instance_uuid: node.instanceUuid,
    instance_name: node.instanceName,
    resource_class: node.resourceClass,
    conductor_group: node.conductorGroup,
    owner: node.owner,
    lessee: node.lessee,
    description: node.description,
    shard: node.shard,
    automated_clean: node.automatedClean,
    protected: node.protected,
    protected_reason: node.protectedReason,
    retired: node.retired,
    retired_reason: node.retiredReason,
    disable_power_off: node.disablePowerOff,
    maintenance: node.maintenance,
    maintenance_reason: node.maintenanceReason,
  };
}

function interfaceFields(node: NodeRow) {
  const names = nodeInterfaces(node);
  return {
    bios_interface: names.bios,
    boot_interface: names.boot,
    console_interface: names.console,
    deploy_interface: names.deploy,
    firmware_interface: names.firmware,
    inspect_interface: names.inspect,
    management_interface: names.management,
    network_interface: names.network,
    power_interface: names.power,
    raid_interface: names.raid,
    rescue_interface: names.rescue,
    storage_interface: names.storage,
    vendor_interface: names.vendor,
  };
}

function stepFields(current: NodeSurroundings['currentStep']) {
  const step = current && {
    interface: current.interface,
    step: current.step,
    args: maskDocument(current.args),
    priority: current.priority,
  };
  const ofKind = (kind: FlowKindName): JsonObject => (step && current.kind === kind ? step : {});
  return { clean_step: ofKind('clean'), deploy_step: ofKind('deploy'), service_step: {} };
}

/** The keys that clients read; the rest of Ironic's is private to it. */
function internalInfo(agent: AgentSessionRow | undefined): JsonObject {
  if (!agent) return {};
  return {
    agent_secret_token: mask,
    agent_url: agent.callbackUrl,
    agent_version: agent.version,
    agent_last_heartbeat: agent.lastHeartbeatAt?.toISOString().replace('Z', '000') ?? null,
  };
}
