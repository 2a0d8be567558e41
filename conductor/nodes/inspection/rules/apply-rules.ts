import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { sealNode } from '#conductor/kernel/secrets/node-secrets.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { planRules, type RulesPlan } from '#conductor/nodes/inspection/rules/plan-rules.ts';
import { readStoredRules } from '#conductor/nodes/inspection/rules/rule-resource.ts';
import { addHistory, describePatch } from '#conductor/nodes/node-history.ts';
import { getNode, type NodeChange, updateNode } from '#conductor/nodes/node-store.ts';
import { describeNode, planNodePatch } from '#conductor/nodes/plan-node-patch.ts';
import { addTraits, deleteTrait } from '#conductor/nodes/traits.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';

export type RulesContext = Pick<NodesContext, 'config' | 'drivers' | 'secrets' | 'log' | 'inspectionRules'>;

/** The newest microversion's rules for names hold. */
const version = 115;

/**
 * Changes a node as the operator's rules say (those of the API and of `BATON_INSPECTION_RULES_FILE`), with what was just found of it. Rules that
 * can't be applied change nothing, and the node's history says why.
 * @throws AppError `agent_error` where a rule says that the inspection fails.
 */
export async function applyRules(
  tx: Transaction,
  context: RulesContext,
  found: { readonly nodeUuid: string; readonly inventory: JsonObject; readonly pluginData: JsonObject },
): Promise<void> {
  const { nodeUuid } = found;
  const { node, plan, unreadable } = await planFor(tx, context, found);
  const entry = { nodeUuid, eventType: 'inspection', conductor: context.config.conductorName };
  for (const fault of unreadable) {
    context.log.error({ node: nodeUuid }, `inspection rule not applied: ${fault}`);
    await addHistory(tx, { ...entry, severity: 'ERROR', event: `inspection rule not applied: ${fault}` });
  }
  if (plan.applied.length === 0) return;
  for (const line of plan.lines) context.log.info({ node: nodeUuid }, `inspection rule: ${line}`);
  if (plan.failure !== undefined) throw new AppError('agent_error', `an inspection rule says: ${plan.failure}`);
  const names = `inspection rules (${plan.applied.join(', ')})`;
  try {
    const change = changeOf(context, node, plan);
    if (Object.keys(change).length > 0)
      await updateNode(tx, nodeUuid, sealNode(context.secrets, nodeUuid, change, node));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    await addHistory(tx, { ...entry, severity: 'ERROR', event: `${names} change nothing: ${errorChain(error)}` });
    return;
  }
  await addTraits(tx, nodeUuid, plan.traits.added);
  for (const trait of plan.traits.removed) await deleteTrait(tx, nodeUuid, trait);
  await addHistory(tx, { ...entry, severity: 'INFO', event: `${names} ${describeChange(plan)}` });
}

const notShown = 'why is not shown: a sensitive rule holds, and the reason may tell what it says';

/** What rules would make of a node as it is now, without what sensitive rules say or what may tell it. */
export interface RulesPreview {
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

/** The same as `applyRules` with an inventory that is kept, and nothing is changed or recorded. */
export async function previewRules(
  db: Queryable,
  context: RulesContext,
  found: Parameters<typeof applyRules>[2],
): Promise<RulesPreview> {
  const { node, plan, unreadable } = await planFor(db, context, found);
  const faults = [...unreadable];
  const isSensitive = plan.openLines !== undefined;
  try {
    changeOf(context, node, plan);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    faults.push(isSensitive ? `nothing would be changed; ${notShown}` : errorChain(error));
  }
  return {
    applied: plan.applied,
    changed: [...new Set(plan.patch.map(({ path }) => path))],
    traitsAdded: plan.traits.added,
    traitsRemoved: plan.traits.removed,
    logged: plan.lines.slice(0, plan.openLines),
    fails: plan.failure !== undefined && isSensitive ? notShown : plan.failure,
    faults,
  };
}

async function planFor(db: Queryable, context: RulesContext, found: Parameters<typeof applyRules>[2]) {
  const { nodeUuid, inventory, pluginData } = found;
  const stored = await readStoredRules(db, context.secrets);
  const rules = [...stored.rules, ...context.inspectionRules].sort((one, other) => other.priority - one.priority);
  const node = await getNode(db, nodeUuid);
  const plan = planRules(rules, {
    node: { ...describeNode(node), uuid: nodeUuid, provision_state: node.provisionState },
    inventory,
    plugin_data: pluginData,
  });
  return { node, plan, unreadable: stored.faults };
}

/** @throws AppError `invalid_argument`, `conflict` where the rules' changes can't be made */
function changeOf(context: RulesContext, node: NodeRow, plan: RulesPlan): NodeChange {
  if (plan.fault !== undefined) throw new AppError('invalid_argument', plan.fault);
  return planNodePatch(node, plan.patch, {
    version,
    defaultNetworkInterface: context.config.defaultNetworkInterface,
    knownDrivers: context.drivers.hardwareTypes.map((type) => type.name),
  });
}

function isRefusal(error: unknown): boolean {
  return errorCode(error) === 'invalid_argument' || errorCode(error) === 'conflict';
}

function describeChange({ patch, traits }: RulesPlan): string {
  const lists = [
    ['traits added', traits.added],
    ['traits removed', traits.removed],
  ] as const;
  return [
    describePatch(patch),
    ...lists.flatMap(([what, names]) => (names.length > 0 ? [`${what}: ${names.join(', ')}`] : [])),
  ].join('; ');
}
