import { type Decision, type NodeOutcome, type NodeRun, nodePhases, type SiteRun } from '#conductor/model/site-run.ts';
import { applyToDraft, draftOf, finishDraft, nodeOf } from '#conductor/sites/strategy/run-draft.ts';

/**
 * The run after these decisions, in their order.
 * @param now as `decide` was given it
 */
export function applyDecisions(run: SiteRun, decisions: readonly Decision[], now: number): SiteRun {
  if (decisions.length === 0) return run;
  const draft = draftOf(run);
  for (const decision of decisions) applyToDraft(draft, decision, now);
  return finishDraft(draft);
}

/** The run after what has become of nodes at work; of a node that is not at work nothing is believed. */
export function applyOutcomes(run: SiteRun, outcomes: ReadonlyMap<string, NodeOutcome>): SiteRun {
  const draft = draftOf(run);
  for (const [name, outcome] of outcomes) {
    const node = nodeOf(draft, name);
    const after = nodeAfter(node, outcome);
    if (after !== node) draft.changed.set(name, after);
  }
  return draft.changed.size === 0 ? run : finishDraft(draft);
}

/**
 * A node after what has become of its work: unchanged while that goes on. One that was done before it could be broken
 * off is done: its group fails all the same, but what is deployed is not called a failure.
 */
function nodeAfter(node: NodeRun, outcome: NodeOutcome): NodeRun {
  if (!node.work || outcome.state === 'working') return node;
  const { phase, group } = node.work;
  const status = nodePhases[phase][outcome.state];
  if (outcome.state === 'failed') {
    return { status, reason: outcome.error, ...(phase === 'deploy' ? { preparedFor: group } : {}) };
  }
  return { status, ...(outcome.remark === undefined ? {} : { reason: outcome.remark }) };
}
