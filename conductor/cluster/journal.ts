import {
  type ChangeOutcome,
  type ClusterChange,
  type ClusterReport,
  describeClusterChange,
  keyOf,
} from '#conductor/cluster/cluster-changes.ts';

/** What is changed in a cluster by hand, and what came of it. */
export interface JournalEntry {
  readonly change: ClusterChange;
  readonly result: ChangeOutcome | 'unknown';
}

/** Writes entries where they can be read after the operation's answer is lost. */
export type Journal = (entries: readonly JournalEntry[]) => Promise<void>;

/** A drain that takes hours must not fill a node's history. */
const podsEveryMs = 30_000;

export interface KeptJournal {
  /** Of changes that are about to be made, and of what came of them; but for pods, since a budget may keep those. */
  readonly announced: (changes: readonly ClusterChange[], outcome?: ChangeOutcome) => Promise<void>;
  /** After a look. */
  readonly looked: (report: ClusterReport) => Promise<void>;
  /** With what nobody knows the result of. */
  readonly ended: (report: ClusterReport) => Promise<void>;
}

/** Each change of an operation once; of an etcd member, whose addresses nothing else keeps, also before it leaves. */
export function keepJournal(journal: Journal): KeptJournal {
  const written = new Map<string, JournalEntry['result']>();
  const state = { since: performance.now() };
  const write = async (entries: readonly JournalEntry[]): Promise<void> => {
    const news = entries.filter(({ change, result }) => isNews(written.get(keyOf(change)), result));
    if (news.length === 0) return;
    await journal(news);
    for (const { change, result } of news) written.set(keyOf(change), result);
  };
  const writeReport = (deeds: ClusterReport['deeds']): Promise<void> =>
    write(deeds.map(({ sure, ...change }) => ({ change, result: sure ? 'done' : 'unknown' })));
  return {
    announced: async (changes, outcome) => {
      if (outcome === 'refused') {
        // nobody has to be told of what no entry claims
        const claimed = changes.filter((change) => written.has(keyOf(change)));
        return write(claimed.map((change) => ({ change, result: 'refused' })));
      }
      const isToWrite = ({ kind }: ClusterChange): boolean =>
        outcome === undefined ? kind === 'etcd member' : kind !== 'pod';
      await write(changes.filter(isToWrite).map((change) => ({ change, result: outcome ?? 'unknown' })));
    },
    looked: async ({ deeds }) => {
      if (performance.now() - state.since < podsEveryMs) return;
      state.since = performance.now();
      await writeReport(deeds.filter(({ sure }) => sure));
    },
    ended: ({ deeds }) => writeReport(deeds),
  };
}

/** What was done stays so; a refusal may be followed by another request. */
function isNews(before: JournalEntry['result'] | undefined, now: JournalEntry['result']): boolean {
  return before !== now && before !== 'done';
}

/** As a sentence, with what somebody needs who brings a member back. Pure. */
export function describeJournalEntry({ change, result }: JournalEntry): string {
  const { kind, value, message } = change;
  const text = kind === 'etcd member' && value ? `${message} (peer URLs ${value})` : message;
  return result === 'refused'
    ? `${text}: this was refused`
    : describeClusterChange({ ...change, message: text, sure: result === 'done' });
}
