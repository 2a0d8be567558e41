import { describeRemark } from '#conductor/model/remark-words.ts';
import type { Decision, GroupRun, NodeOutcome, SiteRun } from '#conductor/model/site-run.ts';
import type { Note } from '#conductor/sites/actions/action-notes.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import { nameSome } from '#shared/words.ts';

const step = 'baremetal_nodes';
const namedNodes = 20;

/** `n1, n2, n3 and 17 more` */
export function nameNodes(names: readonly string[]): string {
  return nameSome(names, namedNodes);
}

export function countNodes(count: number): string {
  return count === 1 ? '1 node' : `${count} nodes`;
}

/** `control-nodes [Critical]`, as Shipyard's report has it. */
function titleGroup({ definition }: Pick<GroupRun, 'definition'>): string {
  return `${definition.name}${definition.critical ? ' [Critical]' : ''}`;
}

/** What became of nodes, for people. @param afterwards of a teardown Pure. */
export function noteOutcomes(
  before: SiteRun,
  outcomes: ReadonlyMap<string, NodeOutcome>,
  afterwards: TeardownOrder['afterwards'] = 'deploy',
): Note[] {
  return [...outcomes].flatMap(([subject, outcome]): Note[] => {
    const phase = before.nodes.get(subject)?.work?.phase;
    if (phase === undefined || outcome.state === 'working') return [];
    if (outcome.state === 'failed') {
      const what = afterwards === 'deploy' ? phase : 'teardown';
      return [{ step, subject, verbosity: 1, text: `${what} failed: ${describeRemark(outcome.error)}` }];
    }
    // of a node that is not deployed again the second phase is empty
    if (afterwards !== 'deploy' && phase === 'deploy') return [];
    const text = phase === 'deploy' ? 'is deployed' : afterwards === 'deploy' ? 'is prepared' : 'is torn down';
    const { remark } = outcome;
    return [
      remark === undefined
        ? { step, subject, verbosity: 4, text }
        : { step, subject, verbosity: 3, text: `${text}: ${describeRemark(remark)}` },
    ];
  });
}

/** What was decided, for people. @param afterwards of a teardown Pure. */
export function noteDecisions(
  run: SiteRun,
  decisions: readonly Decision[],
  afterwards: TeardownOrder['afterwards'] = 'deploy',
): Note[] {
  const groups = new Map(run.groups.map((group) => [group.definition.name, group]));
  return decisions.flatMap((decision): Note[] => {
    const group = groups.get(decision.group);
    if (!group) return [];
    return afterwards === 'deploy' ? [noteDecision(group, decision)] : noteTeardown(group, decision);
  });
}

/** Of nodes that are not deployed again there is one phase. */
function noteTeardown(group: GroupRun, decision: Decision): Note[] {
  const subject = group.definition.name;
  if (decision.kind === 'enter stage') {
    return decision.stage === 'preparing' ? [{ step, subject, verbosity: 2, text: 'tearing down' }] : [];
  }
  if (decision.kind === 'begin') {
    const text = `teardown begins on ${nameNodes(decision.nodes)}`;
    return decision.phase === 'prepare' ? [{ step, subject, verbosity: 3, text }] : [];
  }
  return [noteDecision(group, decision)];
}

function noteDecision(group: GroupRun, decision: Decision): Note {
  const subject = group.definition.name;
  if (decision.kind === 'enter stage') {
    const { stage } = decision;
    const text = stage === 'prepared' ? 'prepared' : `${stage}; ${countNodes(group.members.length)} in the group`;
    return { step, subject, verbosity: stage === 'prepared' ? 3 : 2, text };
  }
  if (decision.kind === 'end group') {
    const { stage, reason } = decision;
    const text = `Group ${titleGroup(group)} ended with stage: ${stage}${reason === undefined ? '' : `: ${reason}`}`;
    return { step, subject, verbosity: 1, text };
  }
  if (decision.kind === 'begin') {
    const text = `${decision.phase} begins on ${countNodes(decision.nodes.length)}: ${nameNodes(decision.nodes)}`;
    return { step, subject, verbosity: 3, text };
  }
  const text = `broken off on ${countNodes(decision.nodes.length)}: ${nameNodes(decision.nodes)}: ${decision.reason}`;
  return { step, subject, verbosity: 2, text };
}
