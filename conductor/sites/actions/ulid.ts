import { randomBytes } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** A new ULID: 48 bits of time and 80 of chance as 26 characters of Crockford's base 32, which sort by time. */
export function newUlid(now: Date): string {
  const random = BigInt(`0x${randomBytes(10).toString('hex')}`);
  const bits = (BigInt(now.getTime()) << 80n) | random;
  return Array.from({ length: 26 }, (_, place) => alphabet[Number((bits >> BigInt((25 - place) * 5)) & 31n)]).join('');
}

/** The same 128 bits as a UUID, for what is addressed by UUIDs. */
export function ulidAsUuid(ulid: string): string {
  const bits = Array.from(ulid).reduce((sum, letter) => (sum << 5n) | BigInt(alphabet.indexOf(letter)), 0n);
  const hex = bits.toString(16).padStart(32, '0');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
