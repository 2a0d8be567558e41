import { createHash } from 'node:crypto';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * The digest by which UEFI firmware measures and verifies a program: SHA-256 over the file less its checksum, its place for
 * signatures and these (Windows Authenticode Portable Executable Signature Format, "Calculating the PE Image Hash").
 * @param image a PE32+ file, signed or not
 * @throws AppError `invalid_argument`: it is another kind of file, or has something after its signatures
 */
export function authenticodeDigest(image: Buffer): string {
  const header = image.length > 0x40 ? image.readUInt32LE(0x3c) : image.length;
  const optional = header + 24;
  const isPe = image.length > optional + 152 && image.toString('latin1', header, header + 4) === 'PE\0\0';
  if (!isPe || image.readUInt16LE(optional) !== 0x20b)
    throw new AppError('invalid_argument', 'it is no PE32+ file, as programs of 64-bit UEFI are');
  const [checksum, signatures] = [optional + 64, optional + 112 + 4 * 8];
  const [start, bytes] = [image.readUInt32LE(signatures), image.readUInt32LE(signatures + 4)];
  const end = bytes === 0 ? image.length : start;
  if (end < signatures + 8 || (bytes !== 0 && start + bytes !== image.length))
    throw new AppError('invalid_argument', 'its signatures do not lie at its end');
  return createHash('sha256')
    .update(image.subarray(0, checksum))
    .update(image.subarray(checksum + 4, signatures))
    .update(image.subarray(signatures + 8, end))
    .digest('hex');
}
