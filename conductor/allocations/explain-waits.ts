import type { AllocationsContext } from '#conductor/allocations/context.ts';
import type { Unit } from '#conductor/allocations/demand.ts';
import { saveUnserved, type WorkRow } from '#conductor/allocations/work-store.ts';

/** How old the words may become that say what is waited for: each look reads all nodes of the class. */
const explainEveryMs = 5_000;

export interface WaitMemory {
  /** When all that waits was last told why. */
  explainedAt: Date | undefined;
}

/**
 * Writes down what each unit waits for: at once for those that have not been told, for the others every few seconds at
 * most, for many with the same words in one save.
 * @returns milliseconds after which to look again: when a time is over, and when words may be out of date
 */
export async function explainWaits(
  context: Pick<AllocationsContext, 'db' | 'config'>,
  work: {
    readonly units: readonly Unit[];
    readonly memory: WaitMemory;
    readonly now: Date;
    readonly explain: (unit: Unit) => Promise<string>;
  },
): Promise<number[]> {
  const { units, memory, now, explain } = work;
  if (units.length === 0) return [];
  const ageMs = memory.explainedAt ? now.getTime() - memory.explainedAt.getTime() : Infinity;
  const isDue = ageMs >= explainEveryMs || ageMs < 0;
  if (isDue) memory.explainedAt = now;
  const toExplain = isDue
    ? units
    : units.filter(({ members }) => members.some(({ waitingFor }) => waitingFor === null));
  const byText = new Map<string, WorkRow[]>();
  for (const unit of toExplain) {
    const text = await explain(unit);
    const untold = unit.members.filter(({ waitingFor }) => waitingFor !== text);
    if (untold.length > 0) byText.set(text, [...(byText.get(text) ?? []), ...untold]);
  }
  for (const [waitingFor, rows] of byText) await saveUnserved(context, rows, { waitingFor });
  const deadlines = units.flatMap(({ members: [{ waitsMs }] }) => waitsMs ?? []);
  return [...(toExplain.length < units.length ? [explainEveryMs - ageMs] : []), ...deadlines];
}
