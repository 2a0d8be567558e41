import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { interfaceKinds, type NodeField, nodeFieldVersions } from '#conductor/model/node-words.ts';
import type { FoundVlans } from '#conductor/model/port-vlans.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import type { FoundBond } from '#conductor/model/switch-bond.ts';
import { describePort } from '#conductor/networks/switch-driver.ts';
import { listMissing } from '#conductor/nodes/driver-info.ts';
import { columnName } from '#conductor/nodes/node-fields.ts';
import { interfaceOf } from '#conductor/nodes/node-interfaces.ts';
import { mask } from '#shared/secret-words.ts';

/** Values that the API shows of a node beside its row (`node-surroundings.ts` reads them). */
export interface NodeSurroundings {
  /** Holder of an unexpired lease. */
  readonly reservation: string | undefined;
  readonly traits: readonly string[];
  readonly currentStep:
    | (Pick<FlowStepRow, 'interface' | 'step' | 'args' | 'priority'> & { kind: FlowKindName })
    | undefined;
  /** Steps of the flow under way, in order, but those that clean up. */
  readonly flowSteps: readonly FlowStepView[] | undefined;
  readonly agent: Pick<AgentSessionRow, 'callbackUrl' | 'version' | 'lastHeartbeatAt'> | undefined;
  /** Its ports whose switch ports are otherwise than Baton has set them, as last read. */
  readonly differing: readonly DifferingPort[];
}

type FlowStepView = Pick<FlowStepRow, 'interface' | 'step' | 'args' | 'priority' | 'state'> & { kind: FlowKindName };

interface DifferingPort {
  readonly address: string;
  /** Where it was put; null = isolated. */
  readonly network: string | null;
  readonly vlans: FoundVlans;
  readonly bond: FoundBond | 'unknown' | null;
}

export interface NodeViewOptions {
  /** Minor of the microversion in use: newer fields are left out. */
  readonly version: number;
  /** All that the version has when absent. */
  readonly fields?: readonly NodeField[] | undefined;
  /** Names the conductor of a node that nobody works on. */
  readonly conductorOf: (node: NodeRow) => string | undefined;
}

/** Makes the node as Ironic's API shows it, without links. Pure. */
export function viewNode(
  node: NodeRow,
  surroundings: NodeSurroundings,
  options: NodeViewOptions,
): Record<string, unknown> {
  const view: Record<string, unknown> = {};
  for (const name of options.fields ?? allFields) {
    if (nodeFieldVersions[name] <= options.version) view[name] = fieldValues[name](node, surroundings, options);
  }
  return view;
}

/** `2026-11-21T07:35:42.609000+00:00`, as Ironic writes times. */
export function apiTime(time: Date): string;
export function apiTime(time: Date | null | undefined): string | null;
export function apiTime(time: Date | null | undefined): string | null {
  return time ? time.toISOString().replace('Z', '000+00:00') : null;
}

/** Returns the state to show: before 1.2 none for a node that is available. */
export function shownState(state: ProvisionState, version: number): ProvisionState | null {
  return state === 'available' && version < 2 ? null : state;
}

type FieldValue = (node: NodeRow, surroundings: NodeSurroundings, options: NodeViewOptions) => unknown;

/** Fields that show more than a column, or something else. */
const special: Readonly<Partial<Record<NodeField, FieldValue>>> = {
  clean_step: (_, { currentStep }) => stepOf(currentStep, 'clean'),
  deploy_step: (_, { currentStep }) => stepOf(currentStep, 'deploy'),
  driver_info: (node) => maskDocument(node.driverInfo),
  driver_internal_info: (node, { agent, differing, flowSteps }) => ({
    ...internalInfo(agent),
    ...flowInfo(flowSteps),
    ...switchPortInfo(differing),
    ...wipeInfo(node),
    ...holdInfo(node),
    ...missingInfo(node),
  }),
  instance_info: (node) => maskDocument(node.instanceInfo),
  // Baton has no data for it
  parent_node: () => null,
  properties: (node) => maskDocument(node.properties),
  provision_state: (node, _, { version }) => shownState(node.provisionState, version),
  reservation: (_, { reservation }) => reservation ?? null,
  service_step: () => ({}),
  traits: (_, { traits }) => traits,
  conductor: (node, { reservation }, { conductorOf }) => reservation ?? conductorOf(node) ?? null,
};

/** Returns an interface's name, or the column of the field's name. */
function plainValue(field: NodeField): FieldValue {
  const kind = interfaceKinds.find((each) => field === `${each}_interface`);
  if (kind) return (node) => interfaceOf(node, kind);
  const column = columnName(field) as keyof NodeRow;
  return (node) => {
    const value = node[column];
    return value instanceof Date ? apiTime(value) : value;
  };
}

const allFields = Object.keys(nodeFieldVersions) as NodeField[];

/** Made once: a list asks for few fields, of many nodes. */
const fieldValues = Object.fromEntries(
  allFields.map((field) => [field, special[field] ?? plainValue(field)]),
) as Readonly<Record<NodeField, FieldValue>>;

function stepOf(current: NodeSurroundings['currentStep'], kind: FlowKindName): JsonObject {
  if (current?.kind !== kind) return {};
  const { interface: stepInterface, step, args, priority } = current;
  return { interface: stepInterface, step, args: maskDocument(args), priority };
}

/** Ironic's words for the flows that have steps of its kind. */
const stepLists: Readonly<Partial<Record<FlowKindName, 'deploy' | 'clean' | 'service'>>> = {
  deploy: 'deploy',
  clean: 'clean',
  manual_clean: 'clean',
  service: 'service',
};

/** Returns the list of steps and the place of the one that runs (seed 004), as long as the flow does. */
function flowInfo(steps: NodeSurroundings['flowSteps']): JsonObject {
  const list = steps?.[0] && stepLists[steps[0].kind];
  if (!steps || list === undefined) return {};
  const current = steps.findIndex(({ state }) => state === 'running' || state === 'waiting');
  return {
    [`${list}_steps`]: steps.map(({ interface: stepInterface, step, args, priority }) => ({
      interface: stepInterface,
      step,
      args: maskDocument(args),
      priority,
    })),
    [`${list}_step_index`]: current === -1 ? null : current,
  };
}

/** Makes a field of Baton's own: the time until which nothing may switch the node's power, and the reason. */
function holdInfo({ powerHold }: NodeRow): JsonObject {
  if (!powerHold || Date.parse(powerHold.until) <= Date.now()) return {};
  return { baton_power_hold: { until: powerHold.until, reason: powerHold.why } };
}

/**
 * Makes a field of Baton's own: what a wipe that preserves local storage erases, what the last one has preserved, and what
 * is owed.
 */
function wipeInfo({ osDisk, sparedDisks, owedWipe }: NodeRow): JsonObject {
  return {
    ...(owedWipe ? { baton_owed_wipe: { preserve_local_storage: owedWipe.preserveLocalStorage } } : {}),
    ...(osDisk ? { baton_os_disk: osDisk } : {}),
    ...(sparedDisks ? { baton_spared_disks: sparedDisks } : {}),
  };
}

/** Lists what a node lacks that nobody has managed yet: it may have been enrolled by its own ramdisk. */
function missingInfo(node: NodeRow): JsonObject {
  const missing = node.provisionState === 'enroll' ? listMissing(node) : [];
  return missing.length === 0 ? {} : { baton_missing: missing };
}

/** Describes what somebody else has done to its switch ports. */
function switchPortInfo(differing: readonly DifferingPort[]): JsonObject {
  if (differing.length === 0) return {};
  return {
    baton_switch_ports_differing: differing.map(({ address, network, vlans, bond }) => ({
      address,
      set: network === null ? 'isolated' : `network ${network}`,
      found: describePort({ vlans, bond: bond ?? undefined }),
    })),
  };
}

/** Returns the keys that clients read; the rest of Ironic's is private to it. */
function internalInfo(agent: NodeSurroundings['agent']): JsonObject {
  if (!agent) return {};
  return {
    agent_secret_token: mask,
    agent_url: agent.callbackUrl,
    agent_version: agent.version,
    agent_last_heartbeat: agent.lastHeartbeatAt?.toISOString().replace('Z', '000') ?? null,
  };
}
