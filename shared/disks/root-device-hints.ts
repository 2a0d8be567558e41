import type { Disk } from '#shared/disks/disk.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Root device hints in Ironic's grammar (agent-protocol.md §6.5): pure. */
export type RootDeviceHints = Readonly<Record<string, unknown>>;

type Value = string | number | boolean | null;

interface HintField {
  readonly kind: 'text' | 'number' | 'boolean';
  /** All values that may satisfy the hint: one is enough. */
  readonly read: (device: Disk) => readonly Value[];
}

const gib = 1024 ** 3;

const fields: Readonly<Record<string, HintField>> = {
  size: { kind: 'number', read: (device) => [device.sizeBytes / gib] },
  rotational: { kind: 'boolean', read: (device) => [device.rotational] },
  model: { kind: 'text', read: (device) => [device.model] },
  vendor: { kind: 'text', read: (device) => [device.vendor] },
  serial: { kind: 'text', read: (device) => [device.serial] },
  wwn: { kind: 'text', read: (device) => [device.wwn] },
  wwn_with_extension: { kind: 'text', read: (device) => [device.wwnWithExtension] },
  wwn_vendor_extension: { kind: 'text', read: (device) => [device.wwnVendorExtension] },
  name: { kind: 'text', read: (device) => [device.name] },
  hctl: { kind: 'text', read: (device) => [device.hctl] },
  by_path: { kind: 'text', read: (device) => [device.byPath] },
  tran: { kind: 'text', read: (device) => [device.tran] },
};

/** One hint, parsed: whether a device's value satisfies it. */
export interface HintTest {
  readonly field: string;
  readonly wanted: string;
  readonly read: (device: Disk) => readonly Value[];
  readonly matches: (value: Value) => boolean;
}

/**
 * Parses hints.
 * @param source where they come from, for messages: `properties.root_device`
 * @throws AppError `invalid_argument` naming the hint and what would be right.
 */
export function parseHints(hints: RootDeviceHints, source: string): readonly HintTest[] {
  return Object.entries(hints).map(([name, wanted]) => {
    const field = fields[name];
    if (field === undefined) {
      throw bad(`${source}.${name}`, `is not a known hint; hints are ${Object.keys(fields).join(', ')}`);
    }
    return {
      field: name,
      wanted: String(wanted),
      read: field.read,
      matches: parseTest(field.kind, wanted, `${source}.${name}`),
    };
  });
}

/** Why a device does not satisfy the hints, one reason for each; empty when it does. */
export function mismatches(device: Disk, hints: readonly HintTest[]): readonly string[] {
  return hints
    .filter((hint) => !hint.read(device).some((value) => hint.matches(value)))
    .map((hint) => `${hint.field} is ${hint.read(device).map(show).join(' or ')}, wanted ${hint.wanted}`);
}

function parseTest(kind: HintField['kind'], wanted: unknown, field: string): HintTest['matches'] {
  if (kind === 'boolean') {
    const value = parseBoolean(wanted, field);
    return (actual) => actual === value;
  }
  if (typeof wanted !== 'string' && typeof wanted !== 'number') {
    const instead = Array.isArray(wanted) ? ': several values are "<or> a <or> b"' : '';
    throw bad(field, `must be a text or a number, not ${JSON.stringify(wanted)}${instead}`);
  }
  if (String(wanted).trim() === '') throw bad(field, 'is empty: leave the hint out, or give it a value');
  return kind === 'number' ? parseNumberTest(String(wanted), field) : parseTextTest(String(wanted), field);
}

const numberOperators: Readonly<Record<string, (actual: number, wanted: number) => boolean>> = {
  '': (actual, wanted) => actual === wanted,
  '=': (actual, wanted) => actual >= wanted, // Ironic's rule, however odd
  '==': (actual, wanted) => actual === wanted,
  '!=': (actual, wanted) => actual !== wanted,
  '<': (actual, wanted) => actual < wanted,
  '<=': (actual, wanted) => actual <= wanted,
  '>': (actual, wanted) => actual > wanted,
  '>=': (actual, wanted) => actual >= wanted,
};

function parseNumberTest(text: string, field: string): HintTest['matches'] {
  const range = /^\s*<range-in>\s*([[(])\s*(\d+)\s+(\d+)\s*([\])])\s*$/.exec(text);
  if (range) return parseRange(range, text, field);
  if (/^\s*<or>/.test(text)) {
    const choices = text.split('<or>').slice(1);
    const tests = choices.map((choice) => parseNumberTest(choice, field));
    return (actual) => tests.some((matches) => matches(actual));
  }
  const parts = /^\s*(==|!=|<=|>=|=|<|>)?\s*(\d+)\s*$/.exec(text);
  const wanted = Number(parts?.[2]);
  const compare = numberOperators[parts?.[1] ?? ''];
  if (!parts || compare === undefined || wanted <= 0) {
    throw bad(
      field,
      `is "${text}": it must be a whole number of GiB above 0, with =, ==, !=, <, <=, > or >= before it or nothing; ` +
        'or "<or> 100 <or> 200", or "<range-in> [ 100 200 )" with [ ] for ends that belong to it',
    );
  }
  return (actual) => typeof actual === 'number' && compare(actual, wanted);
}

/** oslo's range grammar: square brackets include an end, round ones leave it out. */
function parseRange(parts: RegExpExecArray, text: string, field: string): HintTest['matches'] {
  const [, open, from, to, close] = parts;
  const [least, most] = [Number(from), Number(to)];
  if (least > most || most === 0) {
    throw bad(field, `is "${text}": the range must go from the smaller number of GiB to the larger`);
  }
  return (actual) =>
    typeof actual === 'number' &&
    (open === '[' ? actual >= least : actual > least) &&
    (close === ']' ? actual <= most : actual < most);
}

const textOperators: Readonly<Record<string, (actual: string, wanted: string) => boolean>> = {
  's==': (actual, wanted) => actual === wanted,
  's!=': (actual, wanted) => actual !== wanted,
  's<': (actual, wanted) => actual < wanted,
  's<=': (actual, wanted) => actual <= wanted,
  's>': (actual, wanted) => actual > wanted,
  's>=': (actual, wanted) => actual >= wanted,
  '<in>': (actual, wanted) => actual.includes(wanted),
};

function parseTextTest(text: string, field: string): HintTest['matches'] {
  const wanted = text.trim().toLowerCase();
  if (wanted.startsWith('<or>')) {
    const choices = wanted
      .split('<or>')
      .slice(1)
      .map((choice) => choice.trim());
    if (choices.includes('')) throw bad(field, `is "${text}": each <or> must stand before a value`);
    return (actual) => choices.includes(asText(actual));
  }
  if (wanted.startsWith('<all-in>')) {
    // Ironic's own matcher crashes on it; its documents say "all elements are contained", which of a text is this
    const words = wanted
      .slice('<all-in>'.length)
      .split(/<all-in>|\s/)
      .filter(Boolean);
    if (words.length === 0) throw bad(field, `is "${text}": <all-in> must stand before the words to be contained`);
    return (actual) => words.every((word) => asText(actual).includes(word));
  }
  const operator = /^(<[a-z-]+>|s[=!<>]=?)(?=\s|$)/.exec(wanted)?.[1] ?? /^(s==|s!=|s<=|s>=|<in>)/.exec(wanted)?.[1];
  if (operator === undefined) return (actual) => asText(actual) === wanted;
  const compare = textOperators[operator];
  const operand = wanted.slice(operator.length).trim();
  if (compare === undefined || operand === '') {
    throw bad(
      field,
      `is "${text}": operators for text are ${Object.keys(textOperators).join(', ')}, <or> and <all-in>, each before a value`,
    );
  }
  return (actual) => compare(asText(actual), operand);
}

function parseBoolean(wanted: unknown, field: string): boolean {
  const text = String(wanted).trim().toLowerCase();
  if (['true', 't', 'yes', 'y', 'on', '1'].includes(text)) return true;
  if (['false', 'f', 'no', 'n', 'off', '0'].includes(text)) return false;
  throw bad(field, `is ${JSON.stringify(wanted)}: it must be true or false`);
}

/** A missing attribute compares as the text "none", as in Ironic. */
function asText(value: Value): string {
  return value === null ? 'none' : String(value).trim().toLowerCase();
}

function show(value: Value): string {
  if (typeof value === 'number') return `${Math.round(value * 100) / 100} GiB`;
  return value === null ? 'unknown' : String(value);
}

function bad(field: string, text: string): AppError {
  return new AppError('invalid_argument', `root device hint ${field} ${text}`);
}
