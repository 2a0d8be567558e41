import type { Disk } from '#shared/disks/disk.ts';
import { canonicalWwn, isPlaceholder, isPlaceholderWwn } from '#shared/disks/placeholders.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Root device hints in Ironic's grammar (agent-protocol.md §6.5): pure. */
export type RootDeviceHints = Readonly<Record<string, unknown>>;

type Value = string | number | boolean | null;

interface HintField {
  readonly kind: 'text' | 'wwn' | 'number' | 'boolean';
  /** All values that the disk has; `null` for one that it lacks. */
  readonly read: (device: Disk) => readonly Value[];
  /** Whether a missing value is not known, rather than none; absent: it is none. */
  readonly isUnread?: (device: Disk) => boolean;
}

const gib = 1024 ** 3;

/** Recognizes a device of which udev's database could not be read. */
const isUnread = (device: Disk): boolean => device.unread !== undefined;

/** Recognizes one whose names, serial numbers and WWNs may not be all. */
const isUnnamed = (device: Disk): boolean => isUnread(device) || device.unnamed !== undefined;

const wwns: HintField = {
  kind: 'wwn',
  read: (device) => [device.wwn, device.wwnWithExtension, ...device.wwns],
  isUnread: isUnnamed,
};

const fields: Readonly<Record<string, HintField>> = {
  size: { kind: 'number', read: (device) => [device.sizeBytes / gib] },
  rotational: {
    kind: 'boolean',
    read: (device) => [device.rotational],
    isUnread: ({ rotational }) => rotational === null,
  },
  model: { kind: 'text', read: (device) => [device.model], isUnread },
  vendor: { kind: 'text', read: (device) => [device.vendor], isUnread },
  serial: { kind: 'text', read: (device) => [device.serial, ...device.serials], isUnread: isUnnamed },
  wwn: wwns,
  wwn_with_extension: wwns,
  wwn_vendor_extension: { kind: 'wwn', read: (device) => [device.wwnVendorExtension], isUnread: isUnnamed },
  name: { kind: 'text', read: (device) => [device.name, ...device.links], isUnread: isUnnamed },
  hctl: { kind: 'text', read: (device) => [device.hctl] },
  by_path: { kind: 'text', read: (device) => [device.byPath, ...device.links.filter(isByPath)], isUnread: isUnnamed },
  tran: { kind: 'text', read: (device) => [device.tran] },
};

export function isByPath(link: string): boolean {
  return link.startsWith('/dev/disk/by-path/');
}

/** One hint, parsed: whether a device's value satisfies it. */
export interface HintTest {
  readonly field: string;
  readonly wanted: string;
  /** Asks that something is not so: `s!= x`. */
  readonly isNegated: boolean;
  readonly isUnread: (device: Disk) => boolean;
  /** All values of the disk, `null` alone where it has none; empty where they are not known. */
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
    requireNoPlaceholder(name, wanted, `${source}.${name}`);
    return {
      field: name,
      wanted: String(wanted),
      isNegated: /^\s*s?!=/.test(String(wanted)),
      isUnread: field.isUnread ?? (() => false),
      read: (device) => valuesOf(device, field),
      matches: parseTest(field.kind, wanted, `${source}.${name}`),
    };
  });
}

function valuesOf(device: Disk, field: HintField): readonly Value[] {
  const known = new Set(field.read(device).filter((value) => value !== null));
  if (known.size > 0) return [...known];
  return field.isUnread?.(device) ? [] : [null];
}

/** One that a whole batch of disks bears, or each disk without one, would name whichever comes first. */
function requireNoPlaceholder(name: string, wanted: unknown, source: string): void {
  const isEmpty = { serial: isPlaceholder, wwn: isPlaceholderWwn, wwn_with_extension: isPlaceholderWwn }[name];
  // "none" asks for a disk without
  const texts = String(wanted)
    .replace(/^\s*s==/, '')
    .split('<or>')
    .map((text) => text.trim())
    .filter((text) => text !== '' && text.toLowerCase() !== 'none');
  const found = texts.find((text) => isEmpty?.(text));
  if (found === undefined) return;
  throw bad(
    source,
    `is "${found}", which makers put where a disk has no ${name === 'serial' ? 'serial number' : 'WWN'} of its own: ` +
      'name the disk by another of its identifiers, or by by_path',
  );
}

/**
 * Explains why a device does not satisfy the hints, one reason for each; empty when it does. One of its values is enough;
 * that something is not so must hold for each of them, and be known.
 */
export function listMismatches(device: Disk, hints: readonly HintTest[]): readonly string[] {
  return hints
    .filter((hint) => !isMet(device, hint))
    .map((hint) => `${hint.field} is ${show(hint.read(device))}, wanted ${hint.wanted}`);
}

function isMet(device: Disk, hint: HintTest): boolean {
  const values = hint.read(device);
  if (!hint.isNegated) return values.some((value) => hint.matches(value));
  return !isUnsure(device, hint) && values.every((value) => hint.matches(value));
}

/**
 * Returns whether hints that protect a device meet it: any of its values is enough, also for what must not be so, as in
 * Ironic: too much is protected rather than too little. `undefined` = they may: what could tell has not been read.
 */
export function hintsProtect(device: Disk, hints: readonly HintTest[]): boolean | undefined {
  const missed = hints.filter((hint) => !hint.read(device).some((value) => hint.matches(value)));
  if (missed.length === 0) return true;
  return missed.every((hint) => isUnsure(device, hint)) ? undefined : false;
}

function isUnsure(device: Disk, { isUnread: isFieldUnread, field, wanted }: HintTest): boolean {
  // the kernel's own name of a device is always known
  const isKnown = field === 'name' && /^\s*\/dev\/[\w!-]+\s*$/.test(wanted);
  return isFieldUnread(device) && !isKnown;
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
  if (kind === 'number') return parseNumberTest(String(wanted), field);
  return parseTextTest(String(wanted), field, kind === 'wwn' ? canonicalWwn : (text) => text);
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

/** Parses a range of oslo's grammar: square brackets include an end, round ones leave it out. */
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

/** @param canonical what is left of a value without what only says how it is written */
function parseTextTest(text: string, field: string, canonical: (value: string) => string): HintTest['matches'] {
  const wanted = text.trim().toLowerCase();
  const asText = (value: Value): string => plain(value, canonical);
  if (wanted.startsWith('<or>')) {
    const choices = wanted
      .split('<or>')
      .slice(1)
      .map((choice) => canonical(choice.trim()));
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
  if (operator === undefined) return (actual) => asText(actual) === canonical(wanted);
  const compare = textOperators[operator];
  const operand = wanted.slice(operator.length).trim();
  if (compare === undefined || operand === '') {
    throw bad(
      field,
      `is "${text}": operators for text are ${Object.keys(textOperators).join(', ')}, <or> and <all-in>, each before a value`,
    );
  }
  return (actual) => compare(asText(actual), canonical(operand));
}

/**
 * Returns the one value that a hint for a text asks for, in lower case: `abc` of `s== ABC`; `undefined` for a pattern, a
 * choice of several, and all but one.
 */
export function exactText(wanted: string): string | undefined {
  const text = wanted
    .trim()
    .toLowerCase()
    .replace(/^s==\s*/, '');
  return text === '' || /^(<[a-z-]+>|s[=!<>])/.test(text) ? undefined : text;
}

function parseBoolean(wanted: unknown, field: string): boolean {
  const text = String(wanted).trim().toLowerCase();
  if (['true', 't', 'yes', 'y', 'on', '1'].includes(text)) return true;
  if (['false', 'f', 'no', 'n', 'off', '0'].includes(text)) return false;
  throw bad(field, `is ${JSON.stringify(wanted)}: it must be true or false`);
}

/** A missing attribute compares as the text "none", as in Ironic. */
function plain(value: Value, canonical: (value: string) => string): string {
  return value === null ? 'none' : canonical(String(value).trim().toLowerCase());
}

function show(values: readonly Value[]): string {
  const shown = values.map((value) => {
    if (typeof value === 'number') return `${Math.round(value * 100) / 100} GiB`;
    return value === null ? 'unknown' : String(value);
  });
  return shown.join(' or ') || 'not read';
}

function bad(field: string, text: string): AppError {
  return new AppError('invalid_argument', `root device hint ${field} ${text}`);
}
