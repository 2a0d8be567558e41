import { isIPv6 } from 'node:net';
import { filledIn } from '#shared/machine-identity.ts';

/**
 * Replaces what machines and switches are known by in the texts of a recording, the same by the same everywhere. Pure.
 */

/** Keys whose values belong to one machine; of those without digits there are too many that many machines share. */
const identityKey = /serial|wwn|wwid|uuid|asset_?tag|service_?tag|host_?name|eui|nguid|^id_serial|password_hash/i;
/** Lines of `show version`, `ipmitool fru print` and their like. */
const labelled =
  /((?:serial|asset tag|service tag|processor board id)(?: ?(?:number|num|no|id))?\.?\s*[:#=]\s*)([A-Za-z0-9._-]*\d[A-Za-z0-9._-]{3,})/gi;

const uuid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;
const macs = /\b(?:[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4})\b/gi;
const withColons = /(?<![\w:.])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])/gi;
const ipv4 = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])/g;
/** Masks, wildcards, loopbacks, multicast: the same at everybody. */
const sharedAddress = /^(0\.|127\.|255\.|22[4-9]\.|23\d\.)/;

/** @returns the texts, in which an address or a serial number is the same wherever the same one was */
export function replaceIdentities(texts: Readonly<Record<string, string>>): Record<string, string> {
  const serials = numbered((value, number) => {
    const head = /^0x/i.test(value) ? '0x' : '';
    return head + String(number).padStart(Math.max(value.length - head.length, 4), '0');
  });
  const values = Object.values(texts);
  for (const value of values.flatMap(identitiesIn)) serials.of(value);
  const macOf = numbered((_, number) => `00005e0053${(number % 256).toString(16).padStart(2, '0')}`);
  const uuidOf = numbered((_, number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`);
  const addressOf = numbered(
    (_, number) => `${blocks[Math.floor(number / 254) % blocks.length]}.${1 + (number % 254)}`,
  );
  const longAddressOf = numbered((_, number) => `2001:db8::${number.toString(16)}`);
  for (const [value] of values.flatMap((text) => [...text.matchAll(macs)])) macOf.of(digitsOf(value));
  // without marks they stand in LLDP's TLVs, and in names of disks and cards
  const known = [...serials.all(), ...macOf.all()].sort(([a], [b]) => b.length - a.length);
  const replace = (text: string): string =>
    known
      .reduce((shown, [value, other]) => shown.replaceAll(value, other), text)
      .replace(uuid, (value) => uuidOf.of(value.toLowerCase()))
      .replace(macs, (value) => likeWritten(value, macOf.of(digitsOf(value))))
      .replace(withColons, (value) => (isIPv6(value) && !/^::1?$/.test(value) ? longAddressOf.of(value) : value))
      .replace(ipv4, (value) => (sharedAddress.test(value) ? value : addressOf.of(value)));
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, replace(text)]));
}

/** For documentation (RFC 5737). */
const blocks = ['192.0.2', '198.51.100', '203.0.113'];

function numbered(make: (value: string, number: number) => string) {
  const made = new Map<string, string>();
  return {
    of: (value: string): string => {
      const other = made.get(value) ?? make(value, made.size + 1);
      made.set(value, other);
      return other;
    },
    all: () => [...made],
  };
}

const digitsOf = (mac: string): string => mac.toLowerCase().replaceAll(/[:.-]/g, '');

/** `00005e005301` as `00:00:5e:00:53:01`, `00-00-…` or `0000.5e00.5301`. */
function likeWritten(value: string, digits: string): string {
  const [mark = ':'] = /[:.-]/.exec(value) ?? [];
  const written = (digits.match(mark === '.' ? /.{4}/g : /.{2}/g) ?? []).join(mark);
  return /[A-F]/.test(value) ? written.toUpperCase() : written;
}

function identitiesIn(text: string): string[] {
  const inWords = [...text.matchAll(labelled)].map((match) => match[2] ?? '');
  try {
    return [...inWords, ...identitiesOf(JSON.parse(text), '')].filter(isOwn);
  } catch {
    return inWords.filter(isOwn);
  }
}

function identitiesOf(value: unknown, key: string): string[] {
  if (typeof value === 'string') return identityKey.test(key) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, entry]: [string, unknown]) =>
    identitiesOf(entry, Array.isArray(value) ? key : name),
  );
}

const ownRule = new RegExp(`^(?:${uuid.source}|${macs.source})$`, 'i');

/** UUIDs and MAC addresses have their own rules; short words are in other words, too. */
function isOwn(value: string): boolean {
  return value.length >= 4 && filledIn(value) !== null && !ownRule.test(value);
}
