import type { SiteRun } from '#conductor/model/site/site-run.ts';
import { isOut } from '#conductor/sites/strategy/rollout/begun-here.ts';

/** Most nodes that were out at one moment: at work, or failed in this action, as `max_unavailable` counts them. */
export interface MostOut {
  readonly all: number;
  /** By rack; nodes whose documents name none are under ''. */
  readonly racks: ReadonlyMap<string, number>;
  readonly groups: ReadonlyMap<string, number>;
}

/** Counts nodes that are out, moment by moment. */
export interface OutCounter {
  /** Counts again the nodes that something has become of. */
  look(run: SiteRun, names: Iterable<string>): void;
  most(): MostOut;
}

export function newOutCounter(start: SiteRun, racks: ReadonlyMap<string, string>): OutCounter {
  const groupsOf = new Map<string, string[]>();
  for (const { definition, members } of start.groups) {
    for (const name of members) groupsOf.set(name, [...(groupsOf.get(name) ?? []), definition.name]);
  }
  const out = new Set<string>();
  const [byRack, byGroup] = [newTop(), newTop()];
  const all = { most: 0 };
  const count = (name: string, by: 1 | -1): void => {
    byRack.add(racks.get(name) ?? '', by);
    for (const group of groupsOf.get(name) ?? []) byGroup.add(group, by);
  };
  return {
    look: (run, names) => {
      const entering: string[] = [];
      for (const name of names) {
        const node = run.nodes.get(name);
        const isOutNow = node !== undefined && isOut(node, false);
        if (isOutNow === out.has(name)) continue;
        if (isOutNow) entering.push(name);
        else {
          out.delete(name);
          count(name, -1);
        }
      }
      // those that come back at a moment make room for those that go at the same one
      for (const name of entering) {
        if (out.has(name)) continue;
        out.add(name);
        count(name, 1);
      }
      all.most = Math.max(all.most, out.size);
    },
    most: () => ({ all: all.most, racks: byRack.most, groups: byGroup.most }),
  };
}

function newTop(): { readonly most: Map<string, number>; add(key: string, by: 1 | -1): void } {
  const now = new Map<string, number>();
  const most = new Map<string, number>();
  return {
    most,
    add: (key, by) => {
      const count = (now.get(key) ?? 0) + by;
      now.set(key, count);
      if (count > (most.get(key) ?? 0)) most.set(key, count);
    },
  };
}
