import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { openTicket, signTicket } from '#shared/wire/neighbours.ts';

const ours = generateKeyPairSync('ed25519');
const ticket = {
  id: '0123456789abcdef',
  url: 'https://192.0.2.7:40000',
  certificate_sha256: 'a'.repeat(64),
  group: 'b'.repeat(64),
  expires: 10_000,
};
const text = signTicket(ticket, ours.privateKey);
const open = (given: string, now = 9_999) => openTicket(given, ours.publicKey, new Date(now));

test('a ticket says what was signed, until it expires', () => {
  expect(open(text)).toEqual(ticket);
  expect(open(text, 10_000)).toBeUndefined();
});

test.each([
  ['nothing', ''],
  ['no signature', text.split('.')[0] ?? ''],
  ['an empty signature', `${text.split('.')[0]}.`],
  ['more parts', `${text}.x`],
  ['no JSON', 'bm8.bm8'],
  ["another's signature", signTicket(ticket, generateKeyPairSync('ed25519').privateKey)],
  [
    'other claims with the same signature',
    `${Buffer.from(JSON.stringify({ ...ticket, expires: 99_999 })).toString('base64url')}.${text.split('.')[1]}`,
  ],
])('%s is none', (_name, given) => {
  expect(open(given)).toBeUndefined();
});
