import { isIPv6 } from 'node:net';
import { tlvIdentities, withOtherAddress, withOtherSerial } from '#conductor/model/recordings/lldp-identities.ts';
import { isPlaceholder, isPlaceholderWwn } from '#shared/disks/placeholders.ts';

/**
 * Replaces what machines and switches are known by in the texts of a recording, the same by the same everywhere. Pure.
 */

/** Keys whose values belong to one machine; of those without digits there are too many that many machines share. */
const identityKey = /serial|wwn|wwid|uuid|asset_?tag|service_?tag|host_?name|eui|nguid|^id_serial|password_hash/i;
/** Lines of `show version`, `ipmitool fru print` and their like. */
const labelled =
  /((?:serial|asset tag|service tag|processor board id)(?: ?(?:number|num|no|id))?\.?\s*[:#=]\s*)([A-Za-z0-9._-]*\d[A-Za-z0-9._-]{3,})/gi;
/** A line of `udevadm info`: `ID_SERIAL_SHORT=…`. */
const property = /^([A-Z][A-Z0-9_]*)=(\S.*)$/gm;
/** WWNs and SAS addresses, as names of disks by their place have them. */
const longNumber = /0x[0-9a-f]{16}(?:[0-9a-f]{16})?(?![0-9a-f])/gi;
/** Marks before a WWN, which say how it is written. */
const wwnMark = /^(?:0x|naa\.|eui\.|uuid\.|nvme\.|t10\.)/i;
/** A number that some body gives out: its first digits are the maker's. */
const wwnDigits = /^[0-9a-f]{16}(?:[0-9a-f]{16})?$/i;
const makersDigits = 7;
/** The things around a serial number in what udev and the kernel make of it: the model, the kind of number, the unit. */
const aroundSerial = /^(?:3|.*[_ -]|)\0(?:-\d+:\d+|_\d+|)$/s;

const uuid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;
const macs = /\b(?:[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4})\b/gi;
const withColons = /(?<![\w:.])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?![\w:])/gi;
const ipv4 = /(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.])/g;
/** Masks, wildcards, loopbacks, multicast: the same at everybody. */
const sharedAddress = /^(0\.|127\.|255\.|22[4-9]\.|23\d\.)/;

/**
 * @returns the texts, in which an address or a serial number is the same wherever the same one was. No other reads as a
 * placeholder, and what is made of another is made of its replacement.
 */
export function replaceIdentities(texts: Readonly<Record<string, string>>): Record<string, string> {
  const serials = numbered(otherSerial);
  const values = Object.values(texts);
  for (const value of withoutMadeOnes(values.flatMap(identitiesIn))) serials.of(value);
  const macOf = numbered((_, number) => `00005e0053${(number % 256).toString(16).padStart(2, '0')}`);
  const uuidOf = numbered((_, number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`);
  const addressOf = numbered(
    (_, number) => `${blocks[Math.floor(number / 254) % blocks.length]}.${1 + (number % 254)}`,
  );
  const longAddressOf = numbered((_, number) => `2001:db8::${number.toString(16)}`);
  for (const [value] of values.flatMap((text) => [...text.matchAll(macs)])) macOf.of(digitsOf(value));
  const tlvs = values.map((text) => tlvIdentities(parsed(text)));
  for (const mac of tlvs.flatMap((each) => each.macs)) macOf.of(mac);
  const ofTlvs = [
    ...tlvs.flatMap(({ addresses }) =>
      addresses.map((value) => [value, withOtherAddress(value, addressOf.of)] as const),
    ),
    ...tlvs.flatMap((each) => each.serials.map((value) => [value, withOtherSerial(value, serials.of)] as const)),
  ];
  // without marks they stand in LLDP's TLVs, and in names of disks and cards
  const known = [...ofTlvs, ...serials.all(), ...macOf.all()].sort(([a], [b]) => b.length - a.length);
  const replace = (text: string): string =>
    known
      .reduce((shown, [value, other]) => replaceAll(shown, value, other), text)
      .replace(uuid, (value) => uuidOf.of(value.toLowerCase()))
      .replace(macs, (value) => likeWritten(value, macOf.of(digitsOf(value))))
      .replace(withColons, (value) => (isIPv6(value) && !/^::1?$/.test(value) ? longAddressOf.of(value) : value))
      .replace(ipv4, (value) => (sharedAddress.test(value) ? value : addressOf.of(value)));
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, replace(text)]));
}

/** Replaces `5000c500a1b2c3d4` → `5000c50aaaaaaa01`, `S4EVNF0M123456` → `AAAAAAAAAAAA01`. */
function otherSerial(value: string, number: number): string {
  const digits = String(number).padStart(2, '0');
  const kept = wwnDigits.test(value) ? value.slice(0, makersDigits) : '';
  const filler = kept === '' ? 'A' : 'a';
  return kept + digits.padStart(Math.max(value.length - kept.length, 4), filler);
}

/** Replaces all of a text, in capital and in small letters, as WWNs are written. */
function replaceAll(text: string, value: string, other: string): string {
  return wwnDigits.test(value) ? text.replaceAll(new RegExp(value, 'gi'), other) : text.replaceAll(value, other);
}

/** Leaves out those that are made of another: `ID_SERIAL` of model and serial number. */
function withoutMadeOnes(found: readonly string[]): readonly string[] {
  const all = [...new Set(found)];
  return all.filter(
    (value) =>
      !all.some((other) => other.length >= 6 && other !== value && value.includes(other) && isMadeOf(value, other)),
  );
}

function isMadeOf(value: string, other: string): boolean {
  return aroundSerial.test(value.replace(other, '\0'));
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

/** Writes `00005e005301` as `00:00:5e:00:53:01`, `00-00-…` or `0000.5e00.5301`. */
function likeWritten(value: string, digits: string): string {
  const [mark = ':'] = /[:.-]/.exec(value) ?? [];
  const written = (digits.match(mark === '.' ? /.{4}/g : /.{2}/g) ?? []).join(mark);
  return /[A-F]/.test(value) ? written.toUpperCase() : written;
}

function identitiesIn(text: string): string[] {
  const inWords = [
    ...[...text.matchAll(labelled)].map((match) => match[2] ?? ''),
    ...[...text.matchAll(property)].flatMap(([, key = '', value = '']) =>
      identityKey.test(key) ? [value.trim()] : [],
    ),
    ...[...text.matchAll(longNumber)].map(([value]) => value),
  ];
  return [...inWords, ...identitiesOf(parsed(text), '')].flatMap((value) => {
    const bare = value.trim().replace(wwnMark, '');
    const own = wwnDigits.test(bare) ? bare.toLowerCase() : bare;
    return isOwn(own) ? [own] : [];
  });
}

/** Parses JSON; `null`: the text is none. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
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

/**
 * Recognizes a text that is the machine's own. UUIDs and MAC addresses have rules of their own; short words are parts of
 * other words, too.
 */
function isOwn(value: string): boolean {
  const isNone = isPlaceholder(value) || (wwnDigits.test(value) && isPlaceholderWwn(value));
  return value.length >= 4 && !isNone && !ownRule.test(value);
}
