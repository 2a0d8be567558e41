import { createHash } from 'node:crypto';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * The digest by which UEFI firmware measures and verifies a program: SHA-256 over the file less its checksum and its place
 * for signatures (Windows Authenticode Portable Executable Signature Format, "Calculating the PE Image Hash").
 * @param image an unsigned PE32+ file
 * @throws AppError `invalid_argument`: it is another kind of file, or has a signature
 */
export function authenticodeDigest(image: Buffer): string {
  const header = image.length > 0x40 ? image.readUInt32LE(0x3c) : image.length;
  const optional = header + 24;
  const isPe = image.length > optional + 152 && image.toString('latin1', header, header + 4) === 'PE\0\0';
  if (!isPe || image.readUInt16LE(optional) !== 0x20b)
    throw new AppError('invalid_argument', 'it is no PE32+ file, as programs of 64-bit UEFI are');
  const [checksum, signatures] = [optional + 64, optional + 112 + 4 * 8];
  if (image.readUInt32LE(signatures + 4) !== 0) throw new AppError('invalid_argument', 'it has a signature already');
  return createHash('sha256')
    .update(image.subarray(0, checksum))
    .update(image.subarray(checksum + 4, signatures))
    .update(image.subarray(signatures + 8))
    .digest('hex');
}
