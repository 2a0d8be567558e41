import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '#shared/errors/app-error.ts';
import { letGo } from '#shared/peers/let-go.ts';

/** Strings above it are read apart from the rest. */
const longString = 1024;
/** Characters of the longest name of a field. */
const longestName = 64 * 1024;
/** Bytes of a text each of whose characters takes two in memory, since one of them needs two: images and logs are in base64. */
const longestWide = 16 * 1024 ** 2;
const beyondLatin1 = /[\u0100-\uffff]/;
/** Bytes of a character that stands by its number. */
const longestEscape = 6;
/** Bytes that are looked at before others have their turn; they take a few milliseconds. */
const sliceBytes = 512 * 1024;

const quote = 0x22;
const backslash = 0x5c;
const colon = 0x3a;

/** A mark of the order of bytes is no part of a text. */
export function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, '');
}

/**
 * Parses a JSON text whose long strings are read in slices, between which others go on. What is left of the text is short,
 * or has so many values that parsing it takes no longer than it takes to look at them.
 * @param isLast nobody needs the bytes any more
 * @throws SyntaxError for what is not JSON, AppError `not_supported` for a name that is none
 */
export async function parseInSlices(bytes: Buffer, isLast: boolean): Promise<unknown> {
  const mark = randomUUID();
  const strings = new Map<string, readonly string[]>();
  const rest: string[] = [];
  let [kept, looked] = [0, 0];
  for (let at = bytes.indexOf(quote); at >= 0; at = bytes.indexOf(quote, at)) {
    if (at - looked > sliceBytes) {
      await setImmediate();
      looked = at;
    }
    const found: Found = { end: at + 1, isPlain: true };
    while (!lookForEnd(bytes, found)) await setImmediate();
    const { end, isPlain } = found;
    if (end - at > longString) {
      requireShortName(bytes, at, end);
      const name = `${mark} ${strings.size}`;
      strings.set(name, isPlain ? [bytes.toString('latin1', at + 1, end)] : await readString(bytes, at + 1, end));
      rest.push(bytes.toString('utf8', kept, at + 1), name);
      kept = end;
    }
    at = end + 1;
  }
  rest.push(bytes.toString('utf8', kept));
  if (isLast) letGo(bytes);
  const parsed = JSON.parse(withoutMark(rest.join(''))) as unknown;
  return strings.size === 0 ? parsed : putBack(parsed, strings);
}

interface Found {
  /** Where the string ends, or how far it has been looked at. */
  end: number;
  /** All of its characters stand for themselves. */
  isPlain: boolean;
}

/** Looks at one slice of a string. @returns whether it ends there */
function lookForEnd(bytes: Buffer, found: Found): boolean {
  let { end, isPlain } = found;
  const until = Math.min(bytes.length, end + sliceBytes);
  for (; end < until; end += 1) {
    const byte = bytes[end] ?? 0;
    if (byte === quote) break;
    if (byte === backslash) end += 1;
    if (byte === backslash || byte < 0x20 || byte > 0x7e) isPlain = false;
  }
  Object.assign(found, { end, isPlain });
  if (end >= bytes.length) throw new SyntaxError('a string does not end');
  return bytes[end] === quote;
}

/** Refuses a name that is too long, however it is written, before a text is made of it. */
function requireShortName(bytes: Buffer, at: number, end: number): void {
  if (end - at <= longestName * longestEscape) return;
  let next = end + 1;
  while ((bytes[next] ?? colon) <= 0x20) next += 1;
  if (bytes[next] === colon) requireShort(end - at - 1);
}

/** @throws AppError `not_supported` for a name that is none. */
function requireShort(length: number): void {
  if (length <= longestName) return;
  throw new AppError('not_supported', `the JSON has a name of ${length} characters, and may have ${longestName}`);
}

/** Reads the parts of a string with escapes, or beyond ASCII. */
async function readString(bytes: Buffer, from: number, end: number): Promise<readonly string[]> {
  const parts: string[] = [];
  let isWide = false;
  for (let at = from; at < end; ) {
    const until = Math.min(end, at + sliceBytes);
    let cut = at;
    // neither within an escape nor within a character
    while (cut < until) cut += bytes[cut] === backslash ? (bytes[cut + 1] === 0x75 ? 6 : 2) : 1;
    while (cut < end && ((bytes[cut] ?? 0) & 0xc0) === 0x80) cut += 1;
    const part = JSON.parse(`"${bytes.toString('utf8', at, Math.min(cut, end))}"`) as string;
    isWide ||= beyondLatin1.test(part);
    if (isWide && end - from > longestWide) throw tooWide(end - from);
    parts.push(part);
    at = cut;
    await setImmediate();
  }
  return parts;
}

function tooWide(length: number): AppError {
  return new AppError(
    'not_supported',
    `the JSON has a text of ${length} bytes with characters beyond Latin-1, and such a text may have ${longestWide}`,
  );
}

/** Returns the value with each string where its name stands, as a value or as a field's name. */
function putBack(value: unknown, strings: ReadonlyMap<string, readonly string[]>): unknown {
  const read = (text: string): string => strings.get(text)?.join('') ?? text;
  if (typeof value === 'string') return read(value);
  if (Array.isArray(value)) return value.map((each: unknown) => putBack(each, strings));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const name = read(key);
      requireShort(name.length);
      return [name, putBack(each, strings)];
    }),
  );
}
