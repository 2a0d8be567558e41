import { Composer, LineCounter, Parser, Scalar, type ScalarTag } from 'yaml';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { type Parsed, readDocument, TooMuch, tooDeep } from '#conductor/sites/documents/yaml/parse-yaml.ts';

/**
 * Plain scalars as PyYAML's SafeLoader resolves them, and with it Deckhand, Shipyard and Drydock: YAML 1.1, but for `y` and
 * `n`, which are text, and for exponents, which need a dot and a sign. Dates stay text, as JSON has none. So does what looks
 * like a MAC address, which PyYAML takes for a number in base 60 if its groups allow it.
 */

const tag = (name: string, test: RegExp, resolve: (text: string) => unknown): ScalarTag => ({
  tag: `tag:yaml.org,2002:${name}`,
  default: true,
  test,
  resolve,
});

const macAddress = /^\d\d(?::\d\d){5}$/;

const booleans = tag(
  'bool',
  /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/,
  (text) => /^(?:yes|true|on)$/i.test(text),
);

const nulls: ScalarTag = {
  ...tag('null', /^(?:~|null|Null|NULL)?$/, () => new Scalar(null)),
  createNode: () => new Scalar(null),
};

const wholes = tag(
  'int',
  /^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)$/,
  (text) => {
    if (macAddress.test(text)) return text;
    const digits = text.replaceAll('_', '').replace(/^[-+]/, '');
    const value = digits.includes(':') ? inBase60(digits) : Number(digits.replace(/^0(?=[0-7])/, '0o'));
    return text.startsWith('-') ? -value : value;
  },
);

const fractions = tag(
  'float',
  /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
  (text) => {
    const sign = text.startsWith('-') ? -1 : 1;
    const digits = text.toLowerCase().replaceAll('_', '').replace(/^[-+]/, '');
    if (digits === '.nan') return Number.NaN;
    if (digits === '.inf') return sign * Number.POSITIVE_INFINITY;
    return sign * (digits.includes(':') ? inBase60(digits) : Number(digits));
  },
);

function inBase60(text: string): number {
  return text.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
}

/** With schema `failsafe`, so that no others are tried. */
const pyYamlTags = [nulls, booleans, wholes, fractions];

/** Limits of one upload; 10,000 nodes take 5 MB. */
export interface DocumentLimits {
  /** Characters of the text. */
  readonly characters: number;
  readonly documentCharacters: number;
  /** Values once aliases are written out: a few lines of YAML can stand for gigabytes. */
  readonly values: number;
  /** Limit of one document. */
  readonly documentValues: number;
  readonly depth: number;
  /** Reported at most; a file that is not YAML has thousands. */
  readonly faults: number;
}

const defaultLimits: DocumentLimits = {
  characters: 32 * 1024 ** 2,
  documentCharacters: 1024 ** 2,
  values: 4_000_000,
  documentValues: 200_000,
  depth: 64,
  faults: 200,
};

export interface ParsedDocuments {
  /** Documents that can be used, in order: mappings with schema and metadata.name. */
  readonly documents: JsonObject[];
  /** An Error among them = the upload is refused. Each begins with `document 2, line 17, column 3:`. */
  readonly faults: SiteFault[];
}

/**
 * The YAML documents of an upload: what is wrong by itself, without the rest of the site. Empty documents are left out.
 * Pure; 10,000 nodes take seconds: the conductor takes them by `parseUpload`.
 */
export function parseDocuments(text: string, given: Partial<DocumentLimits> = {}): ParsedDocuments {
  const limits = { ...defaultLimits, ...given };
  const documents: JsonObject[] = [];
  const faults: SiteFault[] = [];
  const result = { documents, faults };
  const tooLarge = sizeFault(text, limits);
  if (tooLarge) return { documents, faults: [tooLarge] };
  const lines = new LineCounter();
  const budget = { values: limits.values, documentValues: limits.documentValues, depth: limits.depth };
  const firsts = new Map<string, number>();
  const composed = composeEach(text, lines);
  for (let number = 1; ; number += 1) {
    const next = attempt(() => composed.next(), number);
    if ('fault' in next) return { documents, faults: [...faults, next.fault] };
    const step = next.value;
    if (step.done) return result;
    const read = attempt(() => readDocument(step.value, { number, lines, budget, firsts }), number);
    // what has used up one limit has used it up for the rest, too
    if ('fault' in read) return { documents, faults: [...faults, read.fault] };
    faults.push(...read.value.faults);
    if (read.value.document) documents.push(read.value.document);
    if (faults.length >= limits.faults) {
      const message = `these are the first ${faults.length} faults; the text from document ${number} on was not looked at`;
      return { documents, faults: [...faults, { level: 'Error', name: 'TooManyFaults', message }] };
    }
  }
}

/**
 * Refuses what is too large at the first glance: before the library has it, which takes a thousand times as long. Pure.
 */
export function sizeFault(text: string, given: Partial<DocumentLimits> = {}): SiteFault | undefined {
  const { characters, documentCharacters } = { ...defaultLimits, ...given };
  const fault = (message: string): SiteFault => ({ level: 'Error', name: 'TooLarge', message });
  if (text.length > characters) {
    return fault(
      `the upload has ${text.length} characters, and may have ${characters}: make several collections of it`,
    );
  }
  let from = 0;
  let number = 0;
  for (const to of documentEnds(text)) {
    const size = to - from;
    // what stands before the first mark is seldom a document
    if (from > 0 || text.slice(0, to).trim() !== '') number += 1;
    if (size > documentCharacters) {
      return fault(`document ${number} has ${size} characters, and may have ${documentCharacters}`);
    }
    if (number > mostDocuments) return fault(`the upload has more than ${mostDocuments} documents`);
    from = to;
  }
  return undefined;
}

const mostDocuments = 100_000;

/** YAML has `---` at the beginning of a line nowhere else, texts included. */
function* documentEnds(text: string): Generator<number> {
  for (const { index } of text.matchAll(/^---(?=\s|$)/gm)) yield index;
  yield text.length;
}

function* composeEach(text: string, lines: LineCounter): Generator<Parsed, undefined> {
  const options = {
    lineCounter: lines,
    schema: 'failsafe',
    customTags: pyYamlTags,
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
    // the library finds it only when it makes values
    const isNoMerge = error instanceof Error && error.message.startsWith('Merge sources');
    const isLimit = error instanceof RangeError || error instanceof ReferenceError || error instanceof TooMuch;
    if (!isLimit && !isNoMerge) throw error;
    const isUnknown = isNoMerge || error.message.startsWith('Unresolved alias');
    const faultTexts = error instanceof RangeError ? tooDeep : error.message;
    const message =
      error instanceof ReferenceError && !isUnknown ? 'its aliases stand for too much: write it out' : faultTexts;
    const name = isUnknown ? 'InvalidYaml' : 'TooLarge';
    return { fault: { level: 'Error', name, message: `document ${number}: ${message}` } };
  }
}
