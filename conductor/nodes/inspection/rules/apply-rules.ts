import type { Transaction } from '#conductor/kernel/db/open.ts';
import { sealNode } from '#conductor/kernel/secrets/node-secrets.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { describePatch } from '#conductor/nodes/change-note.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { planRules, type RulesPlan } from '#conductor/nodes/inspection/rules/plan-rules.ts';
import { readStoredRules } from '#conductor/nodes/inspection/rules/rule-resource.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';
import { describeNode, planNodePatch } from '#conductor/nodes/plan-node-patch.ts';
import { addTraits, deleteTrait } from '#conductor/nodes/traits/trait-store.ts';
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
  const { nodeUuid, inventory, pluginData } = found;
  const stored = await readStoredRules(tx, context.secrets);
  const entry = { nodeUuid, eventType: 'inspection', conductor: context.config.conductorName };
  for (const fault of stored.faults) {
    context.log.error({ node: nodeUuid }, `inspection rule not applied: ${fault}`);
    await addHistory(tx, { ...entry, severity: 'ERROR', event: `inspection rule not applied: ${fault}` });
  }
  const rules = [...stored.rules, ...context.inspectionRules].sort((one, other) => other.priority - one.priority);
  if (rules.length === 0) return;
  const node = await getNode(tx, nodeUuid);
  const plan = planRules(rules, {
    node: { ...describeNode(node), uuid: nodeUuid, provision_state: node.provisionState },
    inventory,
    plugin_data: pluginData,
  });
  if (plan.applied.length === 0) return;
  for (const line of plan.lines) context.log.info({ node: nodeUuid }, `inspection rule: ${line}`);
  if (plan.failure !== undefined) throw new AppError('agent_error', `an inspection rule says: ${plan.failure}`);
  const names = `inspection rules (${plan.applied.join(', ')})`;
  try {
    if (plan.fault !== undefined) throw new AppError('invalid_argument', plan.fault);
    const change = planNodePatch(node, plan.patch, {
      version,
      defaultNetworkInterface: context.config.defaultNetworkInterface,
      knownDrivers: context.drivers.hardwareTypes.map((type) => type.name),
    });
    if (Object.keys(change).length > 0)
      await updateNode(tx, nodeUuid, sealNode(context.secrets, nodeUuid, change, node));
  } catch (error) {
    if (errorCode(error) !== 'invalid_argument' && errorCode(error) !== 'conflict') throw error;
    await addHistory(tx, { ...entry, severity: 'ERROR', event: `${names} change nothing: ${errorChain(error)}` });
    return;
  }
  await addTraits(tx, nodeUuid, plan.traits.added);
  for (const trait of plan.traits.removed) await deleteTrait(tx, nodeUuid, trait);
  await addHistory(tx, { ...entry, severity: 'INFO', event: `${names} ${describeChange(plan)}` });
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
