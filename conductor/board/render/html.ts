/** HTML that escapes by construction: text of machines and people can't become a tag or an attribute in it. */

const made: unique symbol = Symbol('html');

/** HTML as `html` has made it; there is no other way to make it. */
export interface Html {
  readonly [made]: string;
  /** Its text, to be put into a page. */
  toString(): string;
}

/** Values that stand in a template: text is escaped, `null`, `undefined` and `false` are nothing. */
export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[];

const known = new WeakMap<TemplateStringsArray, ReadonlySet<number>>();

/**
 * Makes HTML of a template. A value inside a tag stands in quotation marks, or is HTML itself (` hidden`).
 * @throws Error for a text inside a tag that no quotation marks enclose: its spaces would begin other attributes
 */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const bare = bareSlotsOf(parts);
  const text = parts.map((part, index) => {
    if (index === 0) return part;
    const value = values[index - 1];
    if (bare.has(index - 1) && !isHtml(value) && value !== false && value !== null && value !== undefined)
      throw new Error(`a value inside a tag needs quotation marks: ${parts[index - 1]}`);
    return textOf(value) + part;
  });
  return toHtml(text.join(''));
}

/** Joins values with a text between them. */
export function joined(values: readonly HtmlValue[], between: string): Html {
  return html`${values.flatMap((value, index) => (index === 0 ? [value] : [between, value]))}`;
}

/** HTML of nothing. */
export const nothing: Html = html``;

/** Whether it puts nothing into a page. */
export const isEmpty = (value: Html): boolean => value[made] === '';

/** Untrusted text, isolated so that right-to-left characters do not reorder the page around it. */
export const foreign = (text: string | null | undefined): Html =>
  text === '' || text === null || text === undefined ? nothing : html`<bdi>${text}</bdi>`;

/** The same for the cells of a long table: plain letters reorder nothing, and an element less is laid out. */
export const foreignCell = (text: string | null | undefined): Html =>
  typeof text === 'string' && /^[\x20-\x7e]*$/.test(text) ? html`${text}` : foreign(text);

/** Renders a time in words; its exact value is shown while the pointer rests on it. */
export const renderTime = (iso: string, words: HtmlValue): Html =>
  html`<time datetime="${iso}" title="${iso}">${words}</time>`;

/** Escapes `&lt;` for `<`, in text and in quoted attributes alike. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

function toHtml(text: string): Html {
  return { [made]: text, toString: () => text };
}

function isHtml(value: HtmlValue): value is Html {
  return typeof value === 'object' && value !== null && made in value;
}

function textOf(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return '';
  if (isHtml(value)) return value[made];
  if (typeof value === 'object') return value.map(textOf).join('');
  return escapeHtml(String(value));
}

/** Finds the slots of a template that stand inside a tag and outside quotation marks; a template is looked at once. */
function bareSlotsOf(parts: TemplateStringsArray): ReadonlySet<number> {
  const before = known.get(parts);
  if (before) return before;
  const bare = new Set<number>();
  let [isTag, isQuoted] = [false, false];
  for (const [index, part] of parts.entries()) {
    for (const sign of part) {
      if (!isTag) isTag = sign === '<';
      else if (sign === '"') isQuoted = !isQuoted;
      else if (sign === '>' && !isQuoted) isTag = false;
    }
    if (isTag && !isQuoted) bare.add(index);
  }
  known.set(parts, bare);
  return bare;
}
