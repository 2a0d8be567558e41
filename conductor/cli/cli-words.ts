import type { Remark } from '#conductor/model/remark.ts';
import { type Dialect, describeRemark } from '#conductor/model/remark-words.ts';

/** What the API advises, as it is typed; faults have a line each below. */
const cliDialect: Dialect = {
  bufferMode: (mode) => `--mode ${mode}`,
  intermediateCommits: '--allow-intermediate-commits',
  diffSinceAction: 'baton site diff --base-version last-site-action --diff-version committed',
  removeCollection: '`baton site remove` takes the collection away',
  faults: () => '',
};

/** Pure. */
export function describeForCli(remark: Remark): string {
  return describeRemark(remark, cliDialect);
}

/** What helps next, by a refusal's reason; nothing where its message says so. Pure. */
export function adviceOn({
  reason,
  remark,
}: {
  readonly reason: string;
  readonly remark?: Remark | undefined;
}): string[] {
  if (remark?.code === 'action-under-way') {
    const id = String(remark.arguments['id']);
    return [`→ baton action watch ${id}; baton action stop ${id}`];
  }
  if (reason === 'NoCommittedConfigdocs') return ['→ baton site upload COLLECTION FILE, then baton site commit'];
  if (reason === 'BufferNotEmpty') return ['→ baton site diff shows the buffer, baton site commit commits it'];
  return [];
}
