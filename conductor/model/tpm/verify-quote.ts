import { constants, createHash, verify } from 'node:crypto';
import type { PublicArea } from '#conductor/model/tpm/public-area.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { algorithms } from '#shared/tpm/algorithms.ts';
import { type ByteReader, readBytes } from '#shared/tpm/byte-reader.ts';
import { readSelections } from '#shared/tpm/read-selections.ts';

/** SHA-256 values of PCRs, hex, by their number. */
export type PcrValues = ReadonlyMap<number, string>;

const magic = 0xff544347;
const quoteType = 0x8018;

/** A quote as it comes from a machine: nothing of it is believed yet. */
export interface QuoteEvidence {
  /** `TPMS_ATTEST`. */
  readonly quote: Buffer;
  /** `TPMT_SIGNATURE`. */
  readonly signature: Buffer;
  readonly pcrValues: PcrValues;
}

/**
 * Proves that these were the PCRs' values when that key's TPM was asked with this nonce (TPM 2.0 Library Part 2, 10.12.8
 * and 11.2.4).
 * @param nonce the 32 bytes that the machine was sent
 * @param pcrs numbers that must have been quoted, neither more nor fewer
 * @throws AppError `invalid_argument` with what does not fit
 */
export function verifyQuote(
  evidence: QuoteEvidence,
  attestationKey: PublicArea,
  { nonce, pcrs }: { readonly nonce: Buffer; readonly pcrs: readonly number[] },
): void {
  verifySignature(evidence.signature, evidence.quote, attestationKey);
  const reader = readBytes(evidence.quote, 'the quote');
  if (reader.u32() !== magic || reader.u16() !== quoteType)
    throw new AppError('invalid_argument', 'the quote is no statement of a TPM about its PCRs');
  reader.sized(); // name of the signer, which the signature has proved
  if (!reader.sized().equals(nonce))
    throw new AppError('invalid_argument', 'the quote answers another question than was asked');
  reader.take(17 + 8); // clock, and the TPM's own firmware
  requireSelection(reader, pcrs);
  const digest = reader.sized();
  reader.end();
  const values = pcrs.map((pcr) => {
    const value = evidence.pcrValues.get(pcr);
    if (value === undefined) throw new AppError('invalid_argument', `the value of PCR ${pcr} was not sent`);
    return Buffer.from(value, 'hex');
  });
  if (!createHash('sha256').update(Buffer.concat(values)).digest().equals(digest))
    throw new AppError('invalid_argument', 'the values of the PCRs are not those that were quoted');
}

function requireSelection(reader: ByteReader, pcrs: readonly number[]): void {
  const banks = readSelections(reader).filter(([, chosen]) => chosen.length > 0);
  if (banks.some(([bank]) => bank !== algorithms.sha256))
    throw new AppError('invalid_argument', 'the quote is of another bank of PCRs than SHA-256');
  const quoted = banks.flatMap(([, chosen]) => chosen);
  if (quoted.join() !== [...pcrs].sort((one, other) => one - other).join())
    throw new AppError(
      'invalid_argument',
      `the quote is of PCRs ${quoted.join(', ') || 'none'}; ${pcrs.join(', ')} were asked for`,
    );
}

function verifySignature(bytes: Buffer, quote: Buffer, { key, kind }: PublicArea): void {
  const reader = readBytes(bytes, 'the signature');
  const scheme = reader.u16();
  if (reader.u16() !== algorithms.sha256)
    throw new AppError('invalid_argument', 'the quote is signed by another hash than SHA-256');
  const isSigned =
    scheme === algorithms.ecdsa && kind === 'ecc'
      ? verify('sha256', quote, { key, dsaEncoding: 'ieee-p1363' }, readEcdsa(reader))
      : verifyRsa(reader, scheme, quote, { key, kind });
  reader.end();
  if (!isSigned) throw new AppError('invalid_argument', 'the quote is not signed by the key that was shown');
}

function readEcdsa(reader: ByteReader): Buffer {
  const parts = [reader.sized(), reader.sized()];
  if (parts.some((part) => part.length > 32))
    throw new AppError('invalid_argument', 'the signature is longer than its key');
  return Buffer.concat(parts.flatMap((part) => [Buffer.alloc(32 - part.length), part]));
}

function verifyRsa(
  reader: ByteReader,
  scheme: number,
  quote: Buffer,
  { key, kind }: Pick<PublicArea, 'key' | 'kind'>,
): boolean {
  if (kind !== 'rsa' || (scheme !== algorithms.rsassa && scheme !== algorithms.rsapss))
    throw new AppError(
      'invalid_argument',
      `the quote is signed by scheme 0x${scheme.toString(16)}, which is not understood`,
    );
  const padding =
    scheme === algorithms.rsassa
      ? { padding: constants.RSA_PKCS1_PADDING }
      : { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_AUTO };
  return verify('sha256', quote, { key, ...padding }, reader.sized());
}
