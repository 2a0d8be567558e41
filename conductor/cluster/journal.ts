import {
  type ChangeOutcome,
  type ClusterChange,
  type ClusterReport,
  describeClusterChange,
  keyOf,
} from '#conductor/cluster/cluster-changes.ts';

/** A change that is made in a cluster by hand, and its outcome. */
export interface JournalEntry {
  readonly change: ClusterChange;
  /** `begun`: it is about to be made. A journal that ends with that ended with its conductor. */
  readonly result: ChangeOutcome | 'begun' | 'unknown';
}

/** Writes entries where they can be read after the operation's answer is lost. */
export type Journal = (entries: readonly JournalEntry[]) => Promise<void>;

export interface KeptJournal {
  /** Records changes that are about to be made, and their outcome. Nothing is made before it is written. */
  readonly announced: (changes: readonly ClusterChange[], outcome?: ChangeOutcome) => Promise<void>;
  /** After a look, which says what came of pods. */
  readonly looked: (report: ClusterReport) => Promise<void>;
  /** With what nobody knows the result of. */
  readonly ended: (report: ClusterReport) => Promise<void>;
}

/** Keeps a journal: each change of an operation before it is made, and its outcome afterwards. */
export function keepJournal(journal: Journal): KeptJournal {
  const written = new Map<string, JournalEntry>();
  const write = async (entries: readonly JournalEntry[]): Promise<void> => {
    const news = entries.filter((entry) => isNews(written.get(keyOf(entry.change))?.result, entry));
    if (news.length === 0) return;
    await journal(news);
    for (const entry of news) written.set(keyOf(entry.change), entry);
  };
  return {
    announced: (changes, outcome) => write(changes.map((change) => ({ change, result: outcome ?? 'begun' }))),
    looked: async ({ deeds }) => {
      const known = new Set(deeds.map(keyOf));
      // who was asked to go, and is not among what was done, was refused
      const refused = [...written.values()].filter(
        ({ change, result }) => result === 'begun' && change.kind === 'pod' && !known.has(keyOf(change)),
      );
      await write([
        ...deeds.flatMap(({ sure, ...change }) => (sure ? [{ change, result: 'done' as const }] : [])),
        ...refused.map(({ change }) => ({ change, result: 'refused' as const })),
      ]);
    },
    ended: ({ deeds }) => write(deeds.map(({ sure, ...change }) => ({ change, result: sure ? 'done' : 'unknown' }))),
  };
}

/**
 * Decides whether an entry is news: what was done stays so; a refusal may be followed by another request, which of a
 * pod that a budget keeps is not news.
 */
function isNews(before: JournalEntry['result'] | undefined, { change, result }: JournalEntry): boolean {
  if (before === 'refused' && result === 'begun') return change.kind !== 'pod';
  return before !== result && before !== 'done';
}

/** Describes an entry as a sentence, with what somebody needs who brings a member back. Pure. */
export function describeJournalEntry({ change, result }: JournalEntry): string {
  const { kind, value, message } = change;
  const text = kind === 'etcd member' && value ? `${message} (peer URLs ${value})` : message;
  if (result === 'begun') return `${text}: started`;
  if (result === 'refused') return `${text}: this was refused${kind === 'pod' ? ', and may be asked for again' : ''}`;
  return describeClusterChange({ ...change, message: text, sure: result === 'done' });
}
