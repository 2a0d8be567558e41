import {
  type ClusterChange,
  type ClusterReport,
  keyOf,
  type RecordedChange,
} from '#conductor/cluster/cluster-changes.ts';

/** Writes down what is changed in a cluster by hand, where it can be read after its answer is lost. */
export type Journal = (changes: readonly RecordedChange[]) => Promise<void>;

/** A drain that takes hours must not fill a node's history. */
const podsEveryMs = 30_000;

export interface KeptJournal {
  /** Of changes that are about to be made; but for pods, since a budget may keep those. */
  readonly announced: (changes: readonly ClusterChange[]) => Promise<void>;
  /** After a look. */
  readonly looked: (report: ClusterReport) => Promise<void>;
  /** With what nobody knows the result of. */
  readonly ended: (report: ClusterReport) => Promise<void>;
}

/** Each change of an operation once. */
export function keepJournal(journal: Journal): KeptJournal {
  const written = new Set<string>();
  const state = { since: performance.now() };
  const write = async (changes: readonly RecordedChange[]): Promise<void> => {
    const news = changes.filter((change) => !written.has(keyOf(change)));
    if (news.length === 0) return;
    await journal(news);
    for (const change of news) written.add(keyOf(change));
  };
  return {
    announced: (changes) =>
      write(changes.filter(({ kind }) => kind !== 'pod').map((change) => ({ ...change, sure: true }))),
    looked: async ({ deeds }) => {
      if (performance.now() - state.since < podsEveryMs) return;
      state.since = performance.now();
      await write(deeds.filter(({ sure }) => sure));
    },
    ended: ({ deeds }) => write(deeds),
  };
}
