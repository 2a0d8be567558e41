/** A group as it is arranged. */
export interface ArrangedGroup {
  readonly name: string;
  readonly depends_on: readonly string[];
}

/** Half of the sweeps go to the right, half to the left; more of them change little. */
const sweeps = 4;

/**
 * Columns of groups, each behind all that it depends on; within a column in the order that crosses few lines: by the mean
 * place of the neighbours. Pure.
 * @param groups in an order that the dependencies allow
 */
export function arrangeGroups<Group extends ArrangedGroup>(groups: readonly Group[]): Group[][] {
  const depths = new Map<string, number>();
  const columns: Group[][] = [];
  for (const group of groups) {
    const depth = 1 + Math.max(-1, ...group.depends_on.map((name) => depths.get(name) ?? -1));
    depths.set(group.name, depth);
    (columns[depth] ??= []).push(group);
  }
  const before = new Map(groups.map(({ name, depends_on: names }) => [name, names]));
  const behind = new Map<string, string[]>();
  for (const { name, depends_on: names } of groups)
    for (const each of names) behind.set(each, [...(behind.get(each) ?? []), name]);
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    const places = new Map(columns.flatMap((column) => column.map(({ name }, place) => [name, place] as const)));
    const neighbours = sweep % 2 === 0 ? before : behind;
    const weigh = ({ name }: Group): number => {
      const known = (neighbours.get(name) ?? []).flatMap((each) => places.get(each) ?? []);
      if (known.length === 0) return places.get(name) ?? 0;
      return known.reduce((sum, place) => sum + place, 0) / known.length;
    };
    for (const [depth, column] of columns.entries()) columns[depth] = column.toSorted((a, b) => weigh(a) - weigh(b));
  }
  return columns;
}

/**
 * Finds the groups that each group comes after directly: not those that it comes after anyway, behind another of them.
 * Pure.
 * @param groups in an order that the dependencies allow
 */
export function directDependencies(groups: readonly ArrangedGroup[]): ReadonlyMap<string, readonly string[]> {
  const before = new Map<string, ReadonlySet<string>>();
  const direct = new Map<string, readonly string[]>();
  for (const { name, depends_on: names } of groups) {
    const implied = new Set(names.flatMap((each) => [...(before.get(each) ?? [])]));
    direct.set(
      name,
      names.filter((each) => !implied.has(each)),
    );
    before.set(name, new Set([...implied, ...names]));
  }
  return direct;
}
