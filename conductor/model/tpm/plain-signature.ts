import { algorithms } from '#shared/tpm/algorithms.ts';
import { readBytes } from '#shared/tpm/byte-reader.ts';

/**
 * Writes a TPM's signature as programs without a TPM read it: PKCS 1, or of ECDSA the DER of its two numbers. Pure.
 * @param signature `TPMT_SIGNATURE`, which was verified
 * @throws AppError `invalid_argument` where it ends in the middle
 */
export function plainSignature(signature: Buffer): Buffer {
  const reader = readBytes(signature, 'the signature');
  const scheme = reader.u16();
  reader.u16(); // hash
  if (scheme !== algorithms.ecdsa) return reader.sized();
  const numbers = Buffer.concat([derInteger(reader.sized()), derInteger(reader.sized())]);
  return Buffer.concat([Buffer.from([0x30, numbers.length]), numbers]);
}

/** Writes a positive number of at most 32 bytes, so that each length has one byte. */
function derInteger(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Buffer.alloc(1) : bytes.subarray(first);
  const body = digits.readUInt8(0) & 0x80 ? Buffer.concat([Buffer.alloc(1), digits]) : digits;
  return Buffer.concat([Buffer.from([0x02, body.length]), body]);
}
