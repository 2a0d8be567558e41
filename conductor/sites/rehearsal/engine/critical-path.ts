import type { RehearsedRun, Span } from '#conductor/sites/rehearsal/engine/run-once.ts';

/** Part of the chain of groups that decides when an action ends. */
export interface PathPart {
  readonly group: string;
  /** Its node that ends last; absent = it has done nothing. */
  readonly node?: string;
  /** Seconds from the beginning of the action. */
  readonly begins: number;
  readonly ends: number;
}

/**
 * Finds the groups that an action's end follows from: back from the one that ends last, each begun at the moment at which
 * the one before it ended. Pure.
 */
export function findCriticalPath({ run, groups, nodes }: Pick<RehearsedRun, 'run' | 'groups' | 'nodes'>): PathPart[] {
  const spans = run.groups.flatMap(({ definition, members }) => {
    const { begins, ends } = groups.get(definition.name) ?? {};
    if (!begins || !ends) return [];
    return [{ name: definition.name, after: definition.depends_on, members, begins: begins.ms, ends: ends.ms }];
  });
  const path: PathPart[] = [];
  const left = new Set(spans);
  let next = latest(spans);
  while (next) {
    left.delete(next);
    const { name, begins, ends, members, after } = next;
    const node = lastOf(members, nodes);
    path.unshift({ group: name, ...(node === undefined ? {} : { node }), begins: begins / 1000, ends: ends / 1000 });
    const before = [...left].filter((each) => each.ends === begins);
    next = before.find((each) => after.includes(each.name)) ?? before.at(-1);
  }
  return path;
}

function latest<Ending extends { readonly ends: number }>(spans: readonly Ending[]): Ending | undefined {
  return spans.reduce<Ending | undefined>((last, each) => (last && last.ends >= each.ends ? last : each), undefined);
}

function lastOf(members: readonly string[], nodes: ReadonlyMap<string, Span>): string | undefined {
  const ends = members.flatMap((name) => {
    const { ends: end } = nodes.get(name) ?? {};
    return end ? [{ name, ends: end.ms }] : [];
  });
  return latest(ends)?.name;
}
