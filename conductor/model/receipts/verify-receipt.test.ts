import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  fingerprintOf,
  keyFile,
  preAuthEncoding,
  readPublicKeys,
  sealEnvelope,
} from '#conductor/model/receipts/envelope.ts';
import { verifyReceipt } from '#conductor/model/receipts/verify-receipt.ts';
import { composeReceipt } from '#conductor/receipts/compose-receipt.ts';
import { receiptFacts } from '#conductor/receipts/testing/example-facts.ts';
import { errorCode } from '#shared/errors/app-error.ts';

const { privateKey, publicKey: ours } = generateKeyPairSync('ed25519');
const theirs = generateKeyPairSync('ed25519').publicKey;
const given = (each: KeyObject, retiredAt: Date | null = null) => ({
  key: each,
  fingerprint: fingerprintOf(each),
  retiredAt,
});
const [publicKey, other] = [given(ours), given(theirs)];
const key = { fingerprint: publicKey.fingerprint, privateKey };
const receipt = composeReceipt(receiptFacts());
const seal = (payload: unknown): string => sealEnvelope(Buffer.from(JSON.stringify(payload)), key);
const file = seal(receipt);
const pemOf = (each: KeyObject): string => each.export({ type: 'spki', format: 'pem' }).toString();

test('a receipt is verified by its key, also among others, and however its JSON is laid out', () => {
  expect(verifyReceipt(file, [publicKey])).toEqual({ receipt, fingerprint: key.fingerprint });
  expect(verifyReceipt(file, [other, publicKey]).fingerprint).toBe(key.fingerprint);
  expect(verifyReceipt(JSON.stringify(JSON.parse(file), undefined, 2), [publicKey]).receipt).toEqual(receipt);
});

test('no byte of the file may be another', () => {
  const bytes = Buffer.from(file);
  const answers = new Map<string, number[]>();
  for (let at = 0; at < bytes.length - 1; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ (at % 2 === 0 ? 1 : 2);
    const answer = answerTo(changed.toString('latin1'));
    answers.set(answer, [...(answers.get(answer) ?? []), at]);
  }
  expect([...answers.keys()]).toEqual(['invalid_argument']);
  expect(answerTo(file)).toBe('verified');
});

function answerTo(text: string): string {
  try {
    verifyReceipt(text, [publicKey]);
    return 'verified';
  } catch (error) {
    return errorCode(error);
  }
}

test('what is signed may not be put under another signature, type or key', () => {
  const envelope = JSON.parse(file) as { signatures: object[]; payloadType: string; payload: string };
  const forged = Buffer.from(JSON.stringify({ ...receipt, disks_wiped: [] })).toString('base64');
  expect(() => verifyReceipt(JSON.stringify({ ...envelope, payload: forged }), [publicKey])).toThrow(
    'is wrong: the receipt',
  );
  expect(() => verifyReceipt(JSON.stringify({ ...envelope, payloadType: 'text/plain' }), [publicKey])).toThrow(
    "it is not a receipt of a wipe: its payload is 'text/plain'",
  );
  // signed by the right key, but as something else
  const raw = Buffer.from(envelope.payload, 'base64');
  const sig = sign(undefined, preAuthEncoding('text/plain', raw), privateKey).toString('base64');
  const asText = { ...envelope, signatures: [{ keyid: key.fingerprint, sig }] };
  expect(() => verifyReceipt(JSON.stringify(asText), [publicKey])).toThrow('is wrong: the receipt');
});

test.each([
  [
    'another key',
    file,
    [other],
    `it is signed by key ${key.fingerprint}, not by ${other.fingerprint}, which was given`,
  ],
  ['no JSON', 'wiped, honestly', [publicKey], 'it is not a receipt: it is not JSON'],
  ['no envelope', '{"payload": 1}', [publicKey], 'which is JSON with payload, payloadType and signatures: payload: '],
  ['nothing signed', '{"payload":"","payloadType":"x","signatures":[]}', [publicKey], 'signatures: '],
  [
    'a version to come',
    seal({ ...receipt, version: 2 }),
    [publicKey],
    'it is a WipeReceipt of version 2, and this Baton reads',
  ],
  ['another kind', seal({ ...receipt, kind: 'DeployReceipt' }), [publicKey], 'it is a DeployReceipt of version 1'],
  [
    'a receipt with too little',
    seal({ ...receipt, node: {} }),
    [publicKey],
    'not a WipeReceipt of version 1: node.uuid',
  ],
  ['what is not a statement', seal('hello'), [publicKey], 'no kind and version'],
])('%s is refused', (_, text, keys, message) => {
  expect(() => verifyReceipt(text, keys)).toThrow(message);
});

test('a key signs nothing after it was retired', () => {
  const signed = new Date(receipt.times.signed);
  expect(verifyReceipt(file, [given(ours, signed)]).receipt).toEqual(receipt);
  const before = new Date(signed.getTime() - 1);
  expect(() => verifyReceipt(file, [given(ours), given(ours, before)])).toThrow('by a key that was retired at');
});

describe('key files', () => {
  test('have one key or several', () => {
    const retired = keyFile({ public_key: pemOf(theirs), retired_at: '2026-11-22T00:00:00.000Z' });
    const keys = readPublicKeys(`key of 2026\n${pemOf(ours)}\n${retired}`, 'keys.pem');
    expect(keys).toMatchObject([
      { fingerprint: publicKey.fingerprint, retiredAt: null },
      { fingerprint: other.fingerprint, retiredAt: new Date('2026-11-22T00:00:00Z') },
    ]);
  });

  test.each([
    ['nothing', 'abc', 'keys.pem: it has no -----BEGIN PUBLIC KEY-----'],
    ['a private key', privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), 'it has a PRIVATE KEY'],
    ['a wrong time', `Retired: soon\n${pemOf(ours)}`, "'Retired: soon' has no time"],
    ['another kind', pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey), 'a key of type ec'],
    ['damage', pemOf(ours).replace('MCow', 'MCox'), 'its key is damaged'],
  ])('with %s are refused', (_, pem, message) => {
    expect(() => readPublicKeys(pem, 'keys.pem')).toThrow(message);
  });
});
