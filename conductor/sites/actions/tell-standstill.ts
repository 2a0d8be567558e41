/** Since when each node at work does the same, and how often that was told. */
export interface Standstill {
  readonly doing: string;
  readonly since: number;
  readonly told: number;
}

const hourMs = 60 * 60_000;

/**
 * Nodes that have got no further for an hour, two, four …: a held flow, or no conductor alive, would keep the one site
 * action that there may be for as long as its group's time lasts, which of a teardown is weeks. Time in which nobody runs
 * the action counts for nothing. Pure.
 * @param doing what nodes at work do now, by name
 * @param now milliseconds since 1970
 */
export function tellStandstill(
  before: ReadonlyMap<string, Standstill>,
  doing: ReadonlyMap<string, string>,
  now: number,
): { readonly next: ReadonlyMap<string, Standstill>; readonly due: readonly { name: string; text: string }[] } {
  const due: { name: string; text: string }[] = [];
  const next = new Map<string, Standstill>();
  for (const [name, text] of doing) {
    const known = before.get(name);
    const same = known && isSame(known.doing, text) ? known : { doing: text, since: now, told: 0 };
    const stoodMs = now - same.since;
    const isDue = stoodMs >= hourMs * 2 ** same.told;
    const hours = Math.floor(stoodMs / hourMs);
    if (isDue) due.push({ name, text: `gets no further for ${hours === 1 ? 'an hour' : `${hours} hours`}: ${text}` });
    next.set(name, isDue ? { ...same, told: same.told + 1 } : same);
  }
  return { next, due };
}

/** Seconds and counts go on while nothing does; a percentage is progress. */
function isSame(one: string, other: string): boolean {
  if (one.includes('%') || other.includes('%')) return one === other;
  const bare = (text: string) => text.replaceAll(/\d+/g, '');
  return bare(one) === bare(other);
}
