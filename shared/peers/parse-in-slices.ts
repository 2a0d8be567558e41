import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { AppError } from '#shared/errors/app-error.ts';

/** Strings above it are read apart from the rest. */
const longString = 1024;
/** No name of a field is. */
const longestName = 64 * 1024;
/** Bytes that are looked at before others have their turn; they take a few milliseconds. */
const sliceBytes = 512 * 1024;

const quote = 0x22;
const backslash = 0x5c;

/** A mark of the order of bytes is no part of a text. */
export function withoutMark(text: string): string {
  return text.replace(/^\uFEFF/, '');
}

/**
 * Parses a JSON text whose long strings are read in slices, between which others go on. What is left of the text is short,
 * or has so many values that parsing it takes no longer than it takes to look at them.
 * @throws SyntaxError for what is not JSON, AppError `not_supported` for a name that is none
 */
export async function parseInSlices(bytes: Buffer): Promise<unknown> {
  const mark = randomUUID();
  const strings = new Map<string, string>();
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
      const name = `${mark} ${strings.size}`;
      strings.set(name, isPlain ? bytes.toString('latin1', at + 1, end) : await readString(bytes, at + 1, end));
      rest.push(bytes.toString('utf8', kept, at + 1), name);
      kept = end;
    }
    at = end + 1;
  }
  const parsed = JSON.parse(withoutMark(rest.join('') + bytes.toString('utf8', kept))) as unknown;
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

/** A string with escapes, or beyond ASCII. */
async function readString(bytes: Buffer, from: number, end: number): Promise<string> {
  const parts: string[] = [];
  for (let at = from; at < end; ) {
    const until = Math.min(end, at + sliceBytes);
    let cut = at;
    // neither within an escape nor within a character
    while (cut < until) cut += bytes[cut] === backslash ? (bytes[cut + 1] === 0x75 ? 6 : 2) : 1;
    while (cut < end && ((bytes[cut] ?? 0) & 0xc0) === 0x80) cut += 1;
    parts.push(JSON.parse(`"${bytes.toString('utf8', at, Math.min(cut, end))}"`) as string);
    at = cut;
    await setImmediate();
  }
  return parts.join('');
}

/** The value with each string where its name stands, as a value or as a field's name. */
function putBack(value: unknown, strings: ReadonlyMap<string, string>): unknown {
  const read = (text: string): string => strings.get(text) ?? text;
  if (typeof value === 'string') return read(value);
  if (Array.isArray(value)) return value.map((each: unknown) => putBack(each, strings));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const name = read(key);
      if (name.length <= longestName) return [name, putBack(each, strings)];
      throw new AppError(
        'not_supported',
        `the JSON has a name of ${name.length} characters, and may have ${longestName}`,
      );
    }),
  );
}
