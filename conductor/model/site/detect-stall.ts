import { progressKey, type Remark } from '#conductor/model/remarks/remark.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';

/** Time since which a node at work does the same, and how often that was reported. */
export interface Stall {
  readonly doing: Remark;
  readonly since: number;
  readonly reported: number;
}

const hourMs = 60 * 60_000;

/** Returns what stays the same as long as a node gets no further: seconds and counts go on, a percentage is progress. */
const keyOf = (doing: Remark): string => progressKey(doing, ['percent']);

/**
 * Finds nodes that have got no further for an hour, two, four …: a held flow, or no conductor alive, would keep the one
 * site action that there may be for as long as its group's time lasts, which of a teardown is weeks. Time in which nobody
 * runs the action counts for nothing. Pure.
 * @param doing activity of nodes at work now, by name
 * @param now milliseconds since 1970
 */
export function detectStall(
  before: ReadonlyMap<string, Stall>,
  doing: ReadonlyMap<string, Remark>,
  now: number,
): { readonly next: ReadonlyMap<string, Stall>; readonly due: readonly (readonly [name: string, remark: Remark])[] } {
  const due: [string, Remark][] = [];
  const next = new Map<string, Stall>();
  for (const [name, remark] of doing) {
    const known = before.get(name);
    const same = known && keyOf(known.doing) === keyOf(remark) ? known : { doing: remark, since: now, reported: 0 };
    const stalledMs = now - same.since;
    const isDue = stalledMs >= hourMs * 2 ** same.reported;
    if (isDue) due.push([name, newRemark('stalled', { hours: Math.floor(stalledMs / hourMs), doing: remark })]);
    next.set(name, isDue ? { ...same, reported: same.reported + 1 } : same);
  }
  return { next, due };
}
