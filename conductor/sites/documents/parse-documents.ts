import { Composer, LineCounter, Parser } from 'yaml';
import type { JsonObject } from '#conductor/db/schema/node.ts';
import { type Parsed, readDocument, TooMuch, tooDeep } from '#conductor/sites/documents/read-yaml-document.ts';
import type { SiteFault } from '#conductor/sites/site-fault.ts';

/** Of one upload; 10,000 nodes take 5 MB. */
interface DocumentLimits {
  /** Characters of the text. */
  readonly characters: number;
  /** Values once aliases are written out: a few lines of YAML can stand for gigabytes. */
  readonly values: number;
  readonly depth: number;
  /** Told at most; a file that is no YAML has thousands. */
  readonly faults: number;
}

const defaultLimits: DocumentLimits = { characters: 32 * 1024 ** 2, values: 4_000_000, depth: 64, faults: 200 };

interface ParsedDocuments {
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

function* composeEach(text: string, lines: LineCounter): Generator<Parsed, undefined> {
  const options = {
    lineCounter: lines,
    merge: true, // `<<`, as every other reader of Airship's documents has it
    prettyErrors: false,
    stringKeys: true,
    uniqueKeys: false, // it compares each with each other; `repeatedKeys` does not
    logLevel: 'silent', // else the library writes warnings to standard error; they stay in the document
  } as const;
  yield* new Composer(options).compose(new Parser(lines.addNewLine).parse(text));
  return undefined;
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
