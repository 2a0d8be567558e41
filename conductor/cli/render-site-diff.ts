import type { SiteDiff } from '#conductor/api/sites.ts';
import { cell } from '#conductor/cli/print.ts';

/** `+`, `-` and `~` documents, each changed value with its path. Pure. */
export function renderSiteDiff({
  document_added: added,
  document_deleted: deleted,
  document_changed: changed,
}: SiteDiff): string {
  const lines = [
    ...added.details.map((document) => `+ ${titleOf(document)}`),
    ...deleted.details.map((document) => `- ${titleOf(document)}`),
    ...changed.details.flatMap((document) => [
      `~ ${titleOf(document)}`,
      ...document.changes.map((change) => `    ${change.path}: ${describe(change)}`),
    ]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function titleOf({ schema, name }: SiteDiff['document_added']['details'][number]): string {
  return `${schema}/${name}`;
}

function describe(change: { readonly old?: unknown; readonly new?: unknown }): string {
  if (!('old' in change)) return `added: ${cell(change.new)}`;
  if (!('new' in change)) return `removed: ${cell(change.old)}`;
  return `${cell(change.old)} → ${cell(change.new)}`;
}
