import { Composer, type Document, isNode, LineCounter, Parser } from 'yaml';
import type { JsonObject } from '#conductor/db/schema/node.ts';
import { isMapping, siteDocument } from '#conductor/sites/documents/site-document.ts';
import { uploadFaults } from '#conductor/sites/documents/upload-faults.ts';
import type { SiteFault } from '#conductor/sites/site-fault.ts';

/** Of one upload; 10,000 nodes take 5 MB. */
export interface DocumentLimits {
  /** Characters of the text. */
  readonly characters: number;
  /** Values once aliases are written out: a few lines of YAML can stand for gigabytes. */
  readonly values: number;
  readonly depth: number;
  /** Told at most; a file that is no YAML has thousands. */
  readonly faults: number;
}

const defaultLimits: DocumentLimits = { characters: 32 * 1024 ** 2, values: 4_000_000, depth: 64, faults: 200 };

/** Where in the text something stands: a path → `line 17, column 3`. */
export type Locate = (path: readonly (string | number)[]) => string;

export interface ParsedDocuments {
  /** Those that can be used, in order: mappings with schema and metadata.name. */
  readonly documents: JsonObject[];
  /** An Error among them = the upload is refused. Each begins with `document 2, line 17, column 3:`. */
  readonly faults: SiteFault[];
}

/**
 * The YAML documents of an upload: what is wrong by itself, without the rest of the site. Empty documents are left out.
 * Pure; 10,000 nodes take seconds, so the conductor takes them in turns (`parseDocumentsInTurns`).
 */
export function parseDocuments(text: string, limits: Partial<DocumentLimits> = {}): ParsedDocuments {
  const parsing = parseEach(text, { ...defaultLimits, ...limits });
  for (let step = parsing.next(); ; step = parsing.next()) if (step.done) return step.value;
}

/** As `parseDocuments`; whatever else there is to do gets its turn every few milliseconds. */
export async function parseDocumentsInTurns(
  text: string,
  limits: Partial<DocumentLimits> = {},
): Promise<ParsedDocuments> {
  const parsing = parseEach(text, { ...defaultLimits, ...limits });
  for (let since = performance.now(), step = parsing.next(); ; step = parsing.next()) {
    if (step.done) return step.value;
    if (performance.now() - since < 10) continue;
    await new Promise((resolve) => setImmediate(resolve));
    since = performance.now();
  }
}

/** Yields after each document. */
function* parseEach(text: string, limits: DocumentLimits): Generator<void, ParsedDocuments> {
  const documents: JsonObject[] = [];
  const faults: SiteFault[] = [];
  const result = { documents, faults };
  if (text.length > limits.characters) {
    const message = `the upload has ${text.length} characters, and may have ${limits.characters}: make several collections of it`;
    return { documents, faults: [{ level: 'Error', name: 'TooLarge', message }] };
  }
  const lines = new LineCounter();
  const budget = { values: limits.values, depth: limits.depth };
  const firsts = new Map<string, number>();
  const composed = composeEach(text, lines);
  for (let number = 1; ; number += 1) {
    const next = attempt(() => composed.next(), number);
    if ('fault' in next) return { documents, faults: [...faults, next.fault] };
    const step = next.value;
    if (step.done) return result;
    const read = attempt(() => readDocument(step.value, { number, lines, budget, firsts }), number);
    if ('fault' in read) faults.push(read.fault);
    else {
      faults.push(...read.value.faults);
      if (read.value.document) documents.push(read.value.document);
    }
    if (faults.length >= limits.faults) {
      const message = `these are the first ${faults.length} faults; the text from document ${number} on was not looked at`;
      return { documents, faults: [...faults, { level: 'Error', name: 'TooManyFaults', message }] };
    }
    yield;
  }
}

type Parsed = Document.Parsed;

function* composeEach(text: string, lines: LineCounter): Generator<Parsed, undefined> {
  const options = {
    lineCounter: lines,
    merge: true, // `<<`, as every other reader of Airship's documents has it
    prettyErrors: false,
    stringKeys: true,
    logLevel: 'silent', // else the library writes warnings to standard error; they stay in the document
  } as const;
  yield* new Composer(options).compose(new Parser(lines.addNewLine).parse(text));
  return undefined;
}

function ownWords(message: string): string {
  const [line = ''] = message.split('\n');
  return line.startsWith('With stringKeys') ? 'a key is a list or mapping; it must be text' : line;
}

/** The library's own limits: its stack, which nesting exhausts, and aliases. */
function attempt<T>(work: () => T, number: number): { readonly value: T } | { readonly fault: SiteFault } {
  try {
    return { value: work() };
  } catch (error) {
    const isLimit = error instanceof RangeError || error instanceof ReferenceError || error instanceof TooMuch;
    if (!isLimit) throw error;
    const isUnknown = error.message.startsWith('Unresolved alias');
    const told = error instanceof RangeError ? tooDeep : error.message;
    const message =
      error instanceof ReferenceError && !isUnknown ? 'its aliases stand for too much: write it out' : told;
    const name = isUnknown ? 'InvalidYaml' : 'TooLarge';
    return { fault: { level: 'Error', name, message: `document ${number}: ${message}` } };
  }
}

const tooDeep = 'it is nested too deep';

class TooMuch extends Error {
  override readonly name = 'TooMuch';
}

interface Surroundings {
  readonly number: number;
  readonly lines: LineCounter;
  readonly budget: { values: number; readonly depth: number };
  /** Which document has that schema and name. */
  readonly firsts: Map<string, number>;
}

function readDocument(
  parsed: Parsed,
  { number, lines, budget, firsts }: Surroundings,
): { readonly document?: JsonObject; readonly faults: readonly SiteFault[] } {
  const place = (offset: number): string => {
    const at = lines.linePos(offset);
    return `document ${number}, line ${at.line}, column ${at.col}`;
  };
  if (parsed.errors.some(({ message }) => message.startsWith('Maximum call stack'))) throw new TooMuch(tooDeep);
  // after the first few, one follows from the other
  const yamlFaults = [...parsed.errors, ...parsed.warnings]
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
  const foreign = checkJson(content, [], budget);
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
  const { schema, name } = siteDocument('', content);
  const key = `${schema}\n${name}`;
  const first = firsts.get(key);
  if (first === undefined) firsts.set(key, number);
  else {
    const message = `${locate(['metadata', 'name'])}: ${schema} ${name} is document ${first} already; each document of a schema needs a name of its own`;
    return { faults: [...faults, { level: 'Error', name: 'DuplicateDocument', message, document: { schema, name } }] };
  }
  return { document: content, faults };
}

/** What JSON, and PostgreSQL's, can't keep. @throws TooMuch */
function checkJson(
  value: unknown,
  path: readonly (string | number)[],
  budget: Surroundings['budget'],
): { readonly path: readonly (string | number)[]; readonly message: string } | undefined {
  budget.values -= 1;
  if (budget.values < 0) throw new TooMuch('the upload has too many values, those that aliases stand for included');
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
      if (key.includes('\u0000') || key === '__proto__') return { path: [...path, key], message: 'is no usable key' };
      const found = checkJson(value[key], [...path, key], budget);
      if (found) return found;
    }
  }
  return undefined;
}
