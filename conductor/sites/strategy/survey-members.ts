import type { GroupRun } from '#conductor/model/site-run.ts';
import { nodeOf, type RunDraft } from '#conductor/sites/strategy/run-draft.ts';

/** How a group's members stand; each list in the members' order. */
export interface MemberSurvey {
  /** Not attempted, and nobody works on them. */
  readonly untouched: readonly string[];
  /** Prepared, and nobody works on them. */
  readonly prepared: readonly string[];
  /** At work for this group, and not being broken off. */
  readonly ownPrepares: readonly string[];
  readonly ownDeploys: readonly string[];
  /** For this group, being broken off. */
  readonly cancelling: number;
  /** At work for another group. */
  readonly othersPrepare: number;
  readonly othersDeploy: number;
  /**
   * Are prepared, or more. A deploy that failed takes that only from other groups: whoever deploys nodes as they are
   * prepared would else find its prepare missed by its deploys.
   */
  readonly havePrepared: number;
  readonly haveSucceeded: number;
}

export function surveyMembers(draft: RunDraft, { definition, members }: GroupRun): MemberSurvey {
  const lists = { untouched: [], prepared: [], ownPrepares: [], ownDeploys: [] } as Record<
    'untouched' | 'prepared' | 'ownPrepares' | 'ownDeploys',
    string[]
  >;
  const counts = { cancelling: 0, othersPrepare: 0, othersDeploy: 0, havePrepared: 0, haveSucceeded: 0 };
  for (const name of members) {
    const { status, work, preparedFor } = nodeOf(draft, name);
    if (status === 'success') counts.haveSucceeded += 1;
    if (status === 'success' || status === 'prepared' || preparedFor === definition.name) counts.havePrepared += 1;
    if (work === undefined) {
      if (status === 'not_started') lists.untouched.push(name);
      else if (status === 'prepared') lists.prepared.push(name);
    } else if (work.group !== definition.name) {
      counts[work.phase === 'prepare' ? 'othersPrepare' : 'othersDeploy'] += 1;
    } else if (work.cancelling !== undefined) counts.cancelling += 1;
    else lists[work.phase === 'prepare' ? 'ownPrepares' : 'ownDeploys'].push(name);
  }
  return { ...lists, ...counts };
}
