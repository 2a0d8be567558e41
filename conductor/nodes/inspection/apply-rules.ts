import { sql } from 'drizzle-orm';
import { PortDescription } from '#conductor/api/ports.ts';
import { openApiCaller } from '#conductor/kernel/caller.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { NodeInventoryRow } from '#conductor/kernel/db/schema/node-parts.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { patchDocument } from '#conductor/kernel/json-patch.ts';
import { sealNode } from '#conductor/kernel/secrets/node-secrets.ts';
import { followDriver } from '#conductor/nodes/change/change-node.ts';
import { describeNode, planNodePatch } from '#conductor/nodes/change/plan-node-patch.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { findInventory, updatePluginData } from '#conductor/nodes/inspection/inventory-store.ts';
import { planWithMatches } from '#conductor/nodes/inspection/rules/match-apart.ts';
import { planRules, type RulesPlan } from '#conductor/nodes/inspection/rules/plan-rules.ts';
import { readStoredRules } from '#conductor/nodes/inspection/rules/rule-resource.ts';
import { addHistory, describePaths } from '#conductor/nodes/node-history.ts';
import { getNode, type NodeChange, updateNode } from '#conductor/nodes/node-store.ts';
import { portResource } from '#conductor/nodes/ports/port.ts';
import { listNodePorts } from '#conductor/nodes/ports/port-store.ts';
import { patchRow } from '#conductor/nodes/resources/change-resource.ts';
import { describeRow } from '#conductor/nodes/resources/resource.ts';
import { addTraits, deleteTrait } from '#conductor/nodes/traits.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';

export type RulesContext = Pick<NodesContext, 'config' | 'drivers' | 'secrets' | 'log' | 'inspectionRules'>;

/** The newest microversion's rules for names hold. */
const version = 115;

/**
 * Changes a node and its ports as the operator's rules say (those of the API and of `BATON_INSPECTION_RULES_FILE`), by
 * the inventory that is kept of it. Rules that can't be applied change nothing, and the node's history says why; what a
 * sensitive one says, or what may reveal it, is only in the conductor's log.
 * @throws AppError `agent_error` where a rule says that the inspection fails.
 */
export async function applyRules(tx: Transaction, context: RulesContext, nodeUuid: string): Promise<void> {
  const kept = await findInventory(tx, nodeUuid);
  if (!kept) return;
  const { plan, unreadable, ...before } = await planFor(tx, context, kept);
  const log = context.log.child({ node: nodeUuid });
  const entry = { nodeUuid, eventType: 'inspection', conductor: context.config.conductorName };
  for (const fault of unreadable) {
    log.error(`inspection rule not applied: ${fault}`);
    await addHistory(tx, { ...entry, severity: 'ERROR', event: `inspection rule not applied: ${fault}` });
  }
  if (plan.applied.length === 0) return;
  for (const line of plan.lines) log.info(`inspection rule: ${line}`);
  const isSensitive = plan.openLines !== undefined;
  if (plan.failure !== undefined) {
    log.warn(`inspection rule '${plan.applied.at(-1)}' fails: ${plan.failure}`);
    const says = isSensitive ? `'${plan.applied.at(-1)}' fails: ${notShown}` : `says: ${plan.failure}`;
    throw new AppError('agent_error', `an inspection rule ${says}`);
  }
  const names = `inspection rules (${plan.applied.join(', ')})`;
  const refusal = await keptWhereRefused(tx, () => change(tx, context, before, plan));
  if (refusal !== undefined) {
    log.error(`${names} change nothing: ${refusal}`);
    const event = `${names} change nothing: ${isSensitive ? notShown : refusal}`;
    await addHistory(tx, { ...entry, severity: 'ERROR', event });
    return;
  }
  await addHistory(tx, { ...entry, event: `${names} ${describeChange(plan)}` });
}

async function change(tx: Transaction, context: RulesContext, before: Before, plan: RulesPlan): Promise<void> {
  const { node } = before;
  const columns = changeOf(context, before, plan);
  await updateNode(tx, node.uuid, sealNode(context.secrets, node.uuid, columns, node));
  for (const { uuid, patch } of plan.ports)
    await patchRow(tx, context, portResource, { uuid, patch, node, caller: openApiCaller });
  if (plan.pluginData) await updatePluginData(tx, node.uuid, plan.pluginData);
  await addTraits(tx, node.uuid, plan.traits.added);
  for (const trait of plan.traits.removed) await deleteTrait(tx, node.uuid, trait);
}

/** Explains why the work was refused, after which nothing of it is left and the transaction goes on. */
async function keptWhereRefused(tx: Transaction, work: () => Promise<void>): Promise<string | undefined> {
  await tx.execute(sql`savepoint before_rules`);
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    await tx.execute(sql`rollback to savepoint before_rules`);
    return errorChain(error);
  }
}

const notShown = "why is in the conductor's log alone: a sensitive rule holds, and the reason may reveal what it says";

/** Effect of rules on a node as it is now, without what sensitive rules say or what may reveal it. */
interface RulesPreview {
  readonly applied: readonly string[];
  /** Fields by their paths: values may be secrets. */
  readonly changed: readonly string[];
  readonly traitsAdded: readonly string[];
  readonly traitsRemoved: readonly string[];
  readonly logged: readonly string[];
  /** Why the inspection would fail. */
  readonly fails: string | undefined;
  /** Why nothing would be changed, and what stored rules can't be read. */
  readonly faults: readonly string[];
}

/** The same as `applyRules`, and nothing is changed or recorded. */
export async function previewRules(db: Queryable, context: RulesContext, kept: KeptInventory): Promise<RulesPreview> {
  const { plan, unreadable, ...before } = await planFor(db, context, kept);
  const faults = [...unreadable];
  const isSensitive = plan.openLines !== undefined;
  try {
    changeOf(context, before, plan);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    faults.push(isSensitive ? `nothing would be changed; ${notShown}` : errorChain(error));
  }
  return {
    applied: plan.applied,
    changed: plan.changed,
    traitsAdded: plan.traits.added,
    traitsRemoved: plan.traits.removed,
    logged: plan.lines.slice(0, plan.openLines),
    fails: plan.failure !== undefined && isSensitive ? notShown : plan.failure,
    faults,
  };
}

type KeptInventory = Pick<NodeInventoryRow, 'nodeUuid' | 'inventory' | 'pluginData'>;
interface Before {
  readonly node: NodeRow;
  readonly ports: readonly PortRow[];
}

async function planFor(db: Queryable, context: RulesContext, { nodeUuid, inventory, pluginData }: KeptInventory) {
  const stored = await readStoredRules(db, context.secrets);
  const rules = [...stored.rules, ...context.inspectionRules].sort((one, other) => other.priority - one.priority);
  const node = await getNode(db, nodeUuid);
  const ports = await listNodePorts(db, nodeUuid);
  const given = {
    node: { ...describeNode(node), uuid: nodeUuid, provision_state: node.provisionState },
    inventory,
    plugin_data: pluginData ?? {},
    ports: ports.map((port) => ({
      uuid: port.uuid,
      address: port.address,
      document: describeRow(portResource, port),
    })),
  };
  try {
    const plan = await planWithMatches((matches) => planRules(rules, given, matches));
    return { node, ports, plan, unreadable: stored.faults };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    const plan = planRules([], given, () => false);
    return { node, ports, plan, unreadable: [...stored.faults, errorChain(error)] };
  }
}

/** @throws AppError `invalid_argument`, `conflict` where the rules' changes can't be made */
function changeOf(context: RulesContext, { node, ports }: Before, plan: RulesPlan): NodeChange {
  if (plan.fault !== undefined) throw new AppError('invalid_argument', plan.fault);
  for (const { uuid, patch } of plan.ports) {
    const port = ports.find((each) => each.uuid === uuid);
    if (port) patchDocument(describeRow(portResource, port), patch, PortDescription);
  }
  // a rule can't ask for `reset_interfaces`, and discovered nodes have the interfaces of another driver
  const driver = plan.patch.findLast(({ path }) => path === '/driver')?.value;
  const patch = typeof driver === 'string' ? [...followDriver(driver, node), ...plan.patch] : plan.patch;
  return planNodePatch(node, patch, {
    version,
    defaultNetworkInterface: context.config.defaultNetworkInterface,
    knownDrivers: context.drivers.hardwareTypes.map((type) => type.name),
  });
}

function isRefusal(error: unknown): boolean {
  return errorCode(error) === 'invalid_argument' || errorCode(error) === 'conflict';
}

function describeChange({ changed, traits }: RulesPlan): string {
  const lists = [
    ['traits added', traits.added],
    ['traits removed', traits.removed],
  ] as const;
  return [
    describePaths(changed),
    ...lists.flatMap(([what, names]) => (names.length > 0 ? [`${what}: ${names.join(', ')}`] : [])),
  ].join('; ');
}
