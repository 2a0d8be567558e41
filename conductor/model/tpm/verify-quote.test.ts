import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { makeCredential } from '#conductor/model/tpm/make-credential.ts';
import { readAttestationKey, readEndorsementKey, tpmFingerprint } from '#conductor/model/tpm/public-area.ts';
import { type QuoteEvidence, verifyQuote } from '#conductor/model/tpm/verify-quote.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import { quotedPcrs } from '#shared/wire/attestation.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { createDraw } from '#test/support/draw.ts';
import { forgeQuote } from '#test/support/forge-quote.ts';

const Reading = z.strictObject({ kind: z.enum(['rsa', 'ecc']), attestationName: z.string(), nonce: z.string() });
const recordings = await readRecordings('tpm/quotes', Reading);

const evidenceOf = (outputs: Readonly<Record<string, string>>) => {
  const bytes = (name: string) => Buffer.from(outputs[name] ?? '', 'base64');
  const lines = (outputs['tpm2_quote pcrs'] ?? '').trim().split('\n');
  return {
    ek: bytes('tpm2_createek'),
    ak: bytes('tpm2_createak'),
    quote: bytes('tpm2_quote message'),
    signature: bytes('tpm2_quote signature'),
    pcrValues: new Map(lines.map((line) => line.split(': ')).map(([pcr, value = '']) => [Number(pcr), value] as const)),
  };
};

describe.each(recordings)('keys and quote of kind $reading.kind', ({ outputs, reading }) => {
  const { ek, ak, ...evidence } = evidenceOf(outputs);
  const nonce = Buffer.from(reading.nonce, 'hex');
  const key = readAttestationKey(ak);
  const verify = (change: Partial<QuoteEvidence>, asked = { nonce, pcrs: quotedPcrs as readonly number[] }) =>
    verifyQuote({ ...evidence, ...change }, key, asked);

  test('the key has the name that the TPM gives it, and its quote holds', () => {
    expect(key.name.toString('hex')).toBe(reading.attestationName);
    expect(tpmFingerprint(ek.toString('base64'))).toMatch(/^[0-9a-f]{64}$/);
    expect(() => verify({})).not.toThrow();
  });

  test('an endorsement key is no attestation key, nor the other way round', () => {
    expect(() => readAttestationKey(ek)).toThrow(
      'the attestation key is of another kind than asked for: it lacks sign',
    );
    expect(() => readEndorsementKey(ak)).toThrow(
      'the endorsement key is of another kind than asked for: it lacks decrypt, has sign',
    );
  });

  test('another nonce, other PCRs or other values are refused', () => {
    const other = Buffer.alloc(32, 1);
    expect(() => verify({}, { nonce: other, pcrs: quotedPcrs })).toThrow('answers another question');
    expect(() => verify({}, { nonce, pcrs: [0, 7] })).toThrow('the quote is of PCRs 0, 1, 2');
    const values = new Map(evidence.pcrValues).set(7, '0'.repeat(64));
    expect(() => verify({ pcrValues: values })).toThrow('the values of the PCRs are not those that were quoted');
    const fewer = new Map([...evidence.pcrValues].filter(([pcr]) => pcr !== 7));
    expect(() => verify({ pcrValues: fewer })).toThrow('the value of PCR 7 was not sent');
  });

  test('a quote with any bit changed is not signed', () => {
    for (let index = 0; index < evidence.quote.length; index += 1) {
      const quote = Buffer.from(evidence.quote);
      quote[index] = (quote[index] ?? 0) ^ 1;
      expect(() => verify({ quote })).toThrow('the quote is not signed by the key that was shown');
    }
  });

  test('no forged quote holds, and each is refused as bad input', () => {
    const draw = createDraw(41);
    const accepted = Array.from({ length: 2_000 }, () => forgeQuote(evidence, draw)).filter((forged) => {
      try {
        verify(forged);
        return true;
      } catch (error) {
        if (errorCode(error) !== 'invalid_argument') throw error;
        return false;
      }
    });
    expect(accepted).toEqual([]);
  });

  test('a signature that is cut, longer or changed is refused', () => {
    for (let length = 0; length < evidence.signature.length; length += 1)
      expect(() => verify({ signature: evidence.signature.subarray(0, length) })).toThrow(
        /signature ends in the middle|signed/,
      );
    expect(() => verify({ signature: Buffer.concat([evidence.signature, Buffer.alloc(1)]) })).toThrow('too many');
    for (let index = 0; index < evidence.signature.length; index += 1) {
      const signature = Buffer.from(evidence.signature);
      signature[index] = (signature[index] ?? 0) ^ 1;
      expect(() => verify({ signature })).toThrow(/sign/);
    }
  });

  test('a key that is cut, or has bytes behind it, is refused', () => {
    for (let length = 0; length < ek.length; length += 1)
      expect(() => readEndorsementKey(ek.subarray(0, length))).toThrow('the endorsement key ends in the middle');
    expect(() => readEndorsementKey(Buffer.concat([ek, Buffer.alloc(1)]))).toThrow('has 1 bytes too many');
  });

  test('each credential is another one', () => {
    const make = () => makeCredential(readEndorsementKey(ek), key.name, Buffer.alloc(32)).toString('hex');
    expect(make()).not.toBe(make());
  });
});

test("one kind's quote is not signed by the other's key", () => {
  const [one, other] = recordings.map(({ outputs }) => evidenceOf(outputs));
  if (!one || !other) throw new Error('two recordings are needed');
  const asked = { nonce: Buffer.alloc(32, 0xab), pcrs: quotedPcrs };
  expect(() => verifyQuote(one, readAttestationKey(other.ak), asked)).toThrow('sign');
  expect(() => verifyQuote(other, readAttestationKey(one.ak), asked)).toThrow('sign');
});
