import { type GroupDefinition, type GroupStage, isUnderWay } from '#conductor/model/site-run.ts';

/** A group as far as it says who waits for whom. */
interface WaitingGroup {
  readonly name: string;
  readonly definition: Pick<GroupDefinition, 'depends_on'>;
  readonly stage: GroupStage;
}

/**
 * What groups that have not begun wait for, for people: groups by name, or for a free slot. Of others nothing; nor of one
 * whose turn comes at the next beat. Pure.
 * @param maxParallelGroups null = it is not known
 */
export function waitingFor(
  groups: readonly WaitingGroup[],
  { maxParallelGroups, isPaused }: { readonly maxParallelGroups: number | null; readonly isPaused: boolean },
): Map<string, string[]> {
  const stages = new Map(groups.map(({ name, stage }) => [name, stage]));
  const atWork = groups.filter(isUnderWay).length;
  const slot =
    maxParallelGroups !== null && atWork >= maxParallelGroups
      ? [`a free slot: ${atWork} of ${maxParallelGroups} groups at work`]
      : [];
  const due = isPaused ? ['the end of the pause'] : slot;
  const waiting = groups.filter(({ stage }) => stage === 'not_started');
  return new Map(
    waiting.map(({ name, definition }) => {
      const left = definition.depends_on.filter((each) => stages.get(each) !== 'success');
      return [name, left.length > 0 ? left : due];
    }),
  );
}
