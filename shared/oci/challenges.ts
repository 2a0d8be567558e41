/** A scheme by which a server wants its callers to authenticate themselves (RFC 9110 §11.6.1). */
export interface Challenge {
  /** In lower case: `bearer`, `basic`. */
  readonly scheme: string;
  /** Names in lower case. */
  readonly params: Readonly<Record<string, string>>;
}

const token = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y;
/** A token that is no parameter's name. */
const schemeForm = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?=[ \t,]|$)/y;
const end = /[ \t]*(?=,|$)/y;
const spaces = /[ \t]*/y;
const equals = /[ \t]*=[ \t]*/y;
const separators = /[ \t,]*/y;
const quoted = /"(?:[^"\\]|\\.)*"/y;
/** A value of Negotiate and its like, which has no name. */
const token68 = /[A-Za-z0-9\-._~+/]+=*(?=[ \t]*(?:,|$))/y;
/** Longest header that is read; real ones have some 200 characters. */
const mostCharacters = 16 * 1024;

/**
 * Parses `WWW-Authenticate`, one header or several: each may hold several challenges, and commas separate both them and
 * their parameters. Reading ends where it is no longer understood; the challenges before that count. Pure.
 */
export function parseChallenges(header: string | readonly string[] | undefined): Challenge[] {
  const texts = typeof header === 'string' ? [header] : (header ?? []);
  return texts.flatMap((text) => parseOne(text.slice(0, mostCharacters)));
}

function parseOne(text: string): Challenge[] {
  const reader = readerOf(text);
  const found: Challenge[] = [];
  for (;;) {
    reader.take(separators);
    const scheme = reader.take(schemeForm);
    if (scheme === undefined) return found;
    const params: Record<string, string> = {};
    if (reader.take(spaces) !== '') readParams(reader, params);
    found.push({ scheme: scheme.toLowerCase(), params });
    if (reader.take(end) === undefined) return found;
  }
}

function readParams(reader: Reader, params: Record<string, string>): void {
  for (;;) {
    const start = reader.at();
    reader.take(separators);
    const name = reader.take(token);
    if (name !== undefined && reader.take(equals) !== undefined) {
      const value = reader.take(quoted)?.slice(1, -1).replaceAll(/\\(.)/g, '$1') ?? reader.take(token);
      if (value !== undefined) {
        // of one that is sent twice the first stays
        params[name.toLowerCase()] ??= value;
        continue;
      }
    }
    // another challenge begins here, or a value without a name
    reader.to(start);
    if (Object.keys(params).length === 0) reader.take(token68);
    return;
  }
}

interface Reader {
  readonly at: () => number;
  readonly to: (position: number) => void;
  readonly take: (pattern: RegExp) => string | undefined;
}

function readerOf(text: string): Reader {
  let position = 0;
  return {
    at: () => position,
    to: (wanted) => {
      position = wanted;
    },
    take: (pattern) => {
      pattern.lastIndex = position;
      const found = pattern.exec(text)?.[0];
      if (found !== undefined) position += found.length;
      return found;
    },
  };
}
