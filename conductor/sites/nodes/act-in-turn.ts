import { newRemark } from '#conductor/model/remark-words.ts';
import type { NodeReport, SiteWork } from '#conductor/sites/nodes/node-order.ts';
import { type ReadNode, readFacts } from '#conductor/sites/nodes/read-facts.ts';
import type { SiteNode } from '#conductor/sites/site.ts';
import { inParallel } from '#shared/in-parallel.ts';

/**
 * Does all of it, so many at a time; what has not begun when the time is over is left out. In random order, so that what
 * comes to nothing again and again keeps nobody else from its turn for long.
 * @returns the results of those that were done
 * @throws what the first has failed with, once those beside it have ended: nothing goes on behind the caller's back
 */
export async function actInTurn<Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
  { atOnce, budgetMs, now = () => performance.now() }: InTurnOptions,
): Promise<Map<Item, Result>> {
  const end = now() + budgetMs;
  const actOn = async (item: Item): Promise<[Item, Result]> => [item, await act(item)];
  return new Map(await inParallel(shuffle(items), actOn, { atOnce, goOn: () => now() < end }));
}

/** What is found of each node that an action without groups looks at; so many at a time. */
export async function reportEach(
  context: Parameters<typeof readFacts>[0],
  { action, site, names }: SiteWork & { readonly names: readonly string[] },
  atOnce: number,
  report: (node: SiteNode, read: ReadNode) => Promise<NodeReport>,
): Promise<ReadonlyMap<string, NodeReport>> {
  const wanted = names.flatMap((name) => site.nodes.get(name) ?? []);
  const read = await readFacts(
    context,
    { action, site },
    wanted.map((node) => ({ node, phase: 'prepare' })),
  );
  const reportOn = async (name: string): Promise<NodeReport> => {
    const node = site.nodes.get(name);
    if (!node) return { state: 'failed', error: newRemark('not-in-documents'), findings: [] };
    return report(node, read.get(name) ?? { facts: {}, design: undefined });
  };
  return actInTurn(names, reportOn, { atOnce, budgetMs: Number.POSITIVE_INFINITY });
}

export interface InTurnOptions {
  readonly atOnce: number;
  /** Milliseconds within which things may begin; one of them always does. */
  readonly budgetMs: number;
  readonly now?: () => number;
}

function shuffle<Item>(items: readonly Item[]): Item[] {
  const shuffled = [...items];
  for (let last = shuffled.length - 1; last > 0; last -= 1) {
    const other = Math.floor(Math.random() * (last + 1));
    [shuffled[last], shuffled[other]] = [shuffled[other] as Item, shuffled[last] as Item];
  }
  return shuffled;
}
