import type { Remark } from '#conductor/model/remarks/remark.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import { countOf } from '#conductor/model/site/rollout.ts';
import type { GroupRun, NodeRun } from '#conductor/model/site/site-run.ts';

/**
 * Finds the reason for which the group has the action pause: a canary has failed, or (`pause_on`) too many nodes have, or
 * several for the same cause. Those that it has paused for before are excused. Pure.
 */
export function whyPause(
  { definition, members, rollout }: GroupRun,
  nodeOf: (name: string) => NodeRun,
): Remark | undefined {
  const { failed_nodes: most, same_cause: alike } = definition.pause_on ?? {};
  const failed = members.filter((name) => nodeOf(name).status === 'failure' && !rollout?.excused.includes(name));
  const canary = definition.canary && rollout?.canariesPassed !== true ? failed[0] : undefined;
  if (canary !== undefined) return newRemark('canary-failed', { node: canary });
  if (most !== undefined && failed.length >= countOf(most, members.length)) {
    return newRemark('many-failed', { nodes: failed });
  }
  if (alike === undefined) return undefined;
  const byCause = Map.groupBy(failed, (name) => causeOf(nodeOf(name).reason) ?? '');
  for (const [cause, nodes] of byCause) {
    // of what has no known cause nobody knows that it is the same
    if (cause !== '' && nodes.length >= alike) return newRemark('same-cause', { nodes, cause });
  }
  return undefined;
}

/** The fault's code where there is one; else its words, which are the same if there is no machine's name in them. */
function causeOf(reason: Remark | undefined): string | undefined {
  if (!reason) return undefined;
  const { fault, error, text } = reason.arguments;
  const [known] = [fault, error, text].filter((value) => typeof value === 'string' && value !== '');
  return typeof known === 'string' ? known : reason.code;
}
