const words: readonly (readonly [RegExp, string])[] = [
  [/\bbuffermode=(append|replace|rejectoncontents)\b/g, '--mode $1'],
  [/\ballow-intermediate-commits=true\b/g, '--allow-intermediate-commits'],
  [
    /\bdiff of last-site-action and committed\b/g,
    'baton site diff --base-version last-site-action --diff-version committed',
  ],
  [/\bto take the collection away, add empty-collection=true\b/g, '`baton site remove` takes the collection away'],
];

/** What the API advises, as it is typed. Pure. */
export function inCliWords(text: string): string {
  return words.reduce((told, [pattern, typed]) => told.replaceAll(pattern, typed), text);
}

/** What helps next, by a refusal's reason; nothing where its message says so. Pure. */
export function adviceOn({ reason, message }: { readonly reason: string; readonly message: string }): string[] {
  if (reason === 'ActionUnderWay') {
    const [id] = /\b[0-9A-HJKMNP-TV-Z]{26}\b/.exec(message) ?? ['ID'];
    return [`→ baton action watch ${id}; baton action stop ${id}`];
  }
  if (reason === 'NoCommittedConfigdocs') return ['→ baton site upload COLLECTION FILE, then baton site commit'];
  if (reason === 'BufferNotEmpty') return ['→ baton site diff shows the buffer, baton site commit commits it'];
  return [];
}
