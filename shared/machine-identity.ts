/** Reads what firmware (SMBIOS, Redfish, IPMI's FRU) says of a machine, told from what its maker has left as it was. */

/** Texts of board makers' templates, and of programs that show an empty field. */
const notFilledIn = new RegExp(
  `^(?:${[
    'none|null|nil|n/?a|not (?:a(?:pplicable|vailable)|specified|provided|present|set(?:table)?|defined|filled.*)|no dimm',
    'un(?:known|defined|specified|available)|invalid|empty|blank|oem|o\\.e\\.m\\.?',
    '(?:to be |)filled (?:in |)by.*|to be filled.*|by o\\.?e\\.?m\\.?|default(?: string)?|standard|<?bad index>?|<?out of spec>?',
    '(?:serial|uuid|asset tag) not (?:set|specified|available)',
    '(?:system|chassis|base ?board|board|product|device|asset)?[ -]?(?:serial ?(?:number|num|no\\.?)|s/n|sn)',
    '(?:system|chassis|base ?board|board) (?:manufacturer|product ?name|product|version|name)',
    'sernum\\d*|manufacturer\\d+|partnum\\d*|modulepartnumber\\d*|asset ?tag ?(?:num|number)?\\d*|asset-1234567890',
    'type1[a-z]+|\\$\\(default_string\\)|\\.*(?:x{2,}|\\*{2,}|\\.{2,}|_{2,})\\.*',
  ].join('|')})$`,
  'i',
);

/** Returns a text of the firmware; `null` where its maker has written none. Pure. */
export function filledIn(text: string | null | undefined): string | null {
  const trimmed = text?.trim() ?? '';
  return /^[\s\-#.]*$/.test(trimmed) || /^0+$/.test(trimmed) || notFilledIn.test(trimmed) ? null : trimmed;
}

/** Keys of a keyboard in order, as boards have them: `0123456789`, `123456789ABCDEF`. */
const keys = '01234567890123456789';
const letters = 'abcdefghijklmnopqrstuvwxyz';

/**
 * Returns a serial number; `null` for what stands on many machines: one character over and over, digits or letters in a row.
 * Pure.
 */
export function realSerial(text: string | null | undefined): string | null {
  const serial = filledIn(text);
  if (serial === null) return null;
  const lower = serial.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const [, digits = '', rest = ''] = /^(\d*)([a-z]*)\d*$/.exec(lower) ?? [];
  const isRow = digits.length + rest.length >= 4 && `${digits}${rest}` === lower;
  const isInOrder = isRow && (digits === '' || keys.includes(digits)) && (rest === '' || letters.startsWith(rest));
  return /^(.)\1*$/.test(lower) || isInOrder ? null : serial;
}

/** UUIDs of boards' and firmware's templates, in either byte order; with what has them. */
const templates: ReadonlySet<string> = new Set(
  [
    '03000200-0400-0500-0006-000700080009', // AMI's
    '12345678-1234-5678-90ab-cddeefaabbcc', // ASRock's
    '4c4c4544-0000-2010-8020-80c04f202020', // a Dell without its service tag
    '8a95d198-7f46-11e5-bf8b-08002704d48e', // EDK2's for ARM
    '5c4606fa-192f-453a-b299-7b088c63bb9b', // every GIADA N70E-DR's
    '00000000-0000-0000-0807-060504030201', // no maker known
  ].flatMap((uuid) => [plainUuid(uuid), swapped(plainUuid(uuid))]),
);

/** Returns the system UUID as 32 lower-case digits; `null` for what is none, or stands on many machines. Pure. */
export function realUuid(text: string | null | undefined): string | null {
  const digits = plainUuid(text ?? '');
  if (!/^[0-9a-f]{32}$/.test(digits) || /^(..)\1*$/.test(digits)) return null;
  return templates.has(digits) ? null : digits;
}

/**
 * Returns whether two UUIDs, as of `realUuid`, are one machine's: SMBIOS before 2.6 left open how the first three fields are
 * read, and BMCs have changed their minds since. Pure.
 */
export function isSameUuid(a: string, b: string): boolean {
  return a === b || a === swapped(b);
}

/**
 * Lists both forms in which a UUID may be written, with dashes, to look for it where other programs have written it. Pure.
 */
export function writtenUuids(digits: string): readonly string[] {
  return [digits, swapped(digits)].map((each) => each.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'));
}

function plainUuid(text: string): string {
  return text.replaceAll(/[-{}]/g, '').trim().toLowerCase();
}

function swapped(digits: string): string {
  const turn = (part: string): string => (part.match(/../g) ?? []).toReversed().join('');
  return `${turn(digits.slice(0, 8))}${turn(digits.slice(8, 12))}${turn(digits.slice(12, 16))}${digits.slice(16)}`;
}
