import { type Html, type HtmlValue, html, nothing } from '#conductor/board/render/html.ts';

/** A command as code, with a button that copies it. */
export const renderCommand = (command: string): Html =>
  html`<span class="command"><code>${command}</code><button type="button" class="copy" data-copy="${command}" aria-label="Copy ${command}" title="Copy"></button></span>`;

/** Words that a line would be broken inside, at a hyphen; longer ones may be. */
const hyphened = /\S*[^\s-]-[^\s-]\S*/g;
const longest = 60;

/** Untrusted prose, whose words stay whole: `r01-n01` is one. Pure. */
export function renderProse(text: string | null | undefined): Html {
  if (text === null || text === undefined || text === '') return nothing;
  const parts: HtmlValue[] = [];
  let at = 0;
  for (const { 0: word, index } of text.matchAll(hyphened)) {
    if (word.length > longest) continue;
    parts.push(text.slice(at, index), html`<span class="whole">${word}</span>`);
    at = index + word.length;
  }
  return html`<bdi>${parts}${text.slice(at)}</bdi>`;
}

/** A word of the API's or of the settings', as code. */
export const renderCode = (word: string): Html => html`<code>${word}</code>`;

/** Renders words of the conductor's in which commands, or other code, stand between backticks. Pure. */
export function renderWords(text: string, renderMarked: (marked: string) => Html = renderCommand): Html {
  const parts = text.split('`');
  // an odd number of backticks closes nothing: then none of them is meant
  if (parts.length % 2 === 0) return renderProse(text);
  return html`${parts.map((part, index) => (index % 2 === 0 ? renderProse(part) : renderMarked(part)))}`;
}
