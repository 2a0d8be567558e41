import { type Document, isNode, isScalar, Lexer, LineCounter, parseDocument, visit } from 'yaml';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { type Locate, uploadFaults } from '#conductor/sites/documents/yaml/upload-faults.ts';
import { documentKey, isMapping, siteDocument } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Words and marks of a text: a thousand of them take milliseconds, whatever they are. */
const mostTokens = 60_000;

/**
 * One small YAML document as plain values; `undefined` of an empty text. Whatever the text, it is read or refused within
 * parts of a second: for what is read on the conductor's own thread. Uploads go by `parseUpload`.
 * @throws AppError `invalid_argument` with the line and what is wrong there
 */
export function parseYaml(text: string): unknown {
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > mostTokens) throw new AppError('invalid_argument', 'it is too large to be read');
  }
  const lineCounter = new LineCounter();
  const parsed = parseDocument(text, {
    lineCounter,
    merge: true,
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: false,
    logLevel: 'error', // with 'silent' a second document would go unnoticed
  });
  const [first] = [...parsed.errors, ...repeatedKeys(parsed)];
  if (first) {
    const { line, col } = lineCounter.linePos(first.pos[0]);
    const message = first.message.startsWith('Maximum call stack') ? 'it is nested too deep' : first.message;
    throw new AppError('invalid_argument', `line ${line}, column ${col}: ${message}`);
  }
  try {
    return parsed.contents === null ? undefined : (parsed.toJS({ maxAliasCount: 100 }) as unknown);
  } catch (cause) {
    // the library's words for aliases that lead nowhere, or to too much, and for its stack
    if (cause instanceof ReferenceError) throw new AppError('invalid_argument', cause.message);
    if (cause instanceof RangeError) throw new AppError('invalid_argument', 'it is nested too deep');
    // "Merge sources must be maps", and whatever else it finds wrong with a text only now
    if (cause instanceof Error) throw new AppError('invalid_argument', cause.message);
    throw cause;
  }
}

/** In time with the size: with twenty thousand keys the library's own check takes seconds, and is switched off. */
function repeatedKeys(
  parsed: Document.Parsed,
): readonly { readonly pos: readonly [number, number]; readonly message: string }[] {
  const faults: { pos: [number, number]; message: string }[] = [];
  visit(parsed, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const [from = 0, to = 0] = key.range ?? [];
        if (seen.has(key.value)) faults.push({ pos: [from, to], message: `key ${String(key.value)} is given twice` });
        seen.add(key.value);
      }
    },
  });
  return faults;
}

export type Parsed = Document.Parsed;

export const tooDeep = 'it is nested too deep';

/** More than a document may have. */
export class TooMuch extends Error {
  override readonly name = 'TooMuch';
}

interface Budget {
  /** Number of values that is left of the upload's. */
  values: number;
  /** Limit of each document. */
  readonly documentValues: number;
  readonly depth: number;
}

interface Surroundings {
  readonly number: number;
  readonly lines: LineCounter;
  readonly budget: Budget;
  /** Which document has that schema, layer and name. */
  readonly firsts: Map<string, number>;
}

/** A document of an upload as JSON, and what is wrong with it by itself. @throws TooMuch, and the library's own errors at its limits */
export function readDocument(
  parsed: Parsed,
  { number, lines, budget, firsts }: Surroundings,
): { readonly document?: JsonObject; readonly faults: readonly SiteFault[] } {
  const place = (offset: number): string => {
    const at = lines.linePos(offset);
    return `document ${number}, line ${at.line}, column ${at.col}`;
  };
  if (parsed.errors.some(({ message }) => message.startsWith('Maximum call stack'))) throw new TooMuch(tooDeep);
  // after the first few, one follows from the other
  const yamlFaults = [...withIndentationOnce(parsed.errors), ...parsed.warnings, ...repeatedKeys(parsed)]
    .slice(0, 10)
    .map(({ pos: [offset], message }): SiteFault => {
      return { level: 'Error', name: 'InvalidYaml', message: `${place(offset)}: ${ownWords(message)}` };
    });
  if (yamlFaults.length > 0) return { faults: yamlFaults };
  const content: unknown = parsed.toJS({ maxAliasCount: 10_000 });
  if (content === null) return { faults: [] };
  const locate: Locate = (path) => {
    const found = path.reduce<{ node: unknown; offset: number }>(
      (outer, _, depth) => {
        const node = parsed.getIn(path.slice(0, depth + 1), true);
        return isNode(node) ? { node, offset: node.range?.[0] ?? outer.offset } : outer;
      },
      { node: parsed.contents, offset: parsed.contents?.range[0] ?? parsed.range[0] },
    );
    return place(found.offset);
  };
  const left = { values: Math.min(budget.values, budget.documentValues), depth: budget.depth };
  const atFirst = left.values;
  const foreign = checkJson(content, [], left);
  budget.values -= atFirst - left.values;
  if (foreign) {
    const message = `${locate(foreign.path)}: ${foreign.path.join('.')} ${foreign.message}`;
    return { faults: [{ level: 'Error', name: 'InvalidValue', message }] };
  }
  if (!isMapping(content)) {
    const kind = Array.isArray(content) ? 'a list' : 'a single value';
    const message = `${locate([])}: it is ${kind}; a document is a mapping with schema, metadata and data`;
    return { faults: [{ level: 'Error', name: 'InvalidDocument', message }] };
  }
  const faults = uploadFaults(content, locate);
  if (faults.some(({ level }) => level === 'Error')) return { faults };
  const read = siteDocument('', content);
  const { schema, name } = read;
  const key = documentKey(read);
  const first = firsts.get(key);
  if (first === undefined) firsts.set(key, number);
  else {
    const message = `${locate(['metadata', 'name'])}: ${schema} ${name} is document ${first} already; each document of a schema needs a name of its own`;
    return { faults: [...faults, { level: 'Error', name: 'DuplicateDocument', message, document: { schema, name } }] };
  }
  return { document: content, faults };
}

/** Refuses what JSON, and PostgreSQL's, can't keep. @throws TooMuch */
function checkJson(
  value: unknown,
  path: readonly (string | number)[],
  budget: Pick<Budget, 'values' | 'depth'>,
): { readonly path: readonly (string | number)[]; readonly message: string } | undefined {
  budget.values -= 1;
  if (budget.values < 0) throw new TooMuch('it has too many values, those that aliases stand for included');
  if (path.length > budget.depth) throw new TooMuch(tooDeep);
  if (typeof value === 'string' && value.includes('\u0000')) return { path, message: 'has a NUL character' };
  if (typeof value === 'string' && !value.isWellFormed()) return { path, message: 'has half of a character' };
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return { path, message: `is ${value}; it must be a number, or text in quotes` };
  }
  if (typeof value === 'bigint' || ArrayBuffer.isView(value)) {
    return { path, message: 'is binary or too large; write it as text' };
  }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const found = checkJson(item, [...path, index], budget);
      if (found) return found;
    }
  } else if (isMapping(value)) {
    for (const key of Object.keys(value)) {
      if (key.includes('\u0000') || key === '__proto__')
        return { path: [...path, key], message: 'is not a usable key' };
      const found = checkJson(value[key], [...path, key], budget);
      if (found) return found;
    }
  }
  return undefined;
}

/** Codes that a line which stands too far to one side brings about. */
const indentationCodes = new Set(['MULTILINE_IMPLICIT_KEY', 'BAD_INDENT', 'TAB_AS_INDENT']);

/** One wrong line has the library complain of those after it, too, and in words that name no indentation. */
function withIndentationOnce(errors: Parsed['errors']): readonly Pick<Parsed['errors'][number], 'pos' | 'message'>[] {
  // of flow sequences the library's words are better
  const first = errors.find(({ code, message }) => indentationCodes.has(code) && !message.startsWith('Flow'));
  if (!first) return errors;
  const rule = 'fields of one mapping begin in the same column, deeper than what they belong to';
  const words: Readonly<Record<string, string>> = {
    TAB_AS_INDENT: 'its indentation has a tab; it must be spaces',
    BAD_INDENT: `its indentation is not that of the lines before: ${rule}`,
  };
  const message = words[first.code] ?? `the next line is indented deeper than this value allows: ${rule}`;
  const others = errors.filter(({ code, pos }) => !indentationCodes.has(code) && pos[0] !== first.pos[0]);
  return [{ pos: first.pos, message }, ...others];
}

function ownWords(message: string): string {
  const [line = ''] = message.split('\n');
  return line.startsWith('With stringKeys') ? 'a key is a list or mapping; it must be text' : line;
}
