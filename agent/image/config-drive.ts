import { gunzipSync } from 'node:zlib';
import { AppError } from '#shared/errors/app-error.ts';

/** Config drives may not be larger (agent-protocol.md §6.3); their partition has this size. */
export const maxConfigDriveBytes = 64 * 1024 * 1024;

/**
 * The file system image in a config drive as it is sent: base64 of it, gzipped or not; or these bytes themselves,
 * when they were fetched from a URL.
 * @throws AppError `invalid_argument` when it is not base64, too large, or neither ISO 9660 nor FAT.
 */
export function decodeConfigDrive(value: string | Uint8Array): Buffer {
  const bytes = typeof value === 'string' ? decodeBase64(value) : unwrap(Buffer.from(value));
  const image = isGzip(bytes) ? unzip(bytes) : bytes;
  if (image.length > maxConfigDriveBytes) throw tooLarge();
  if (!isIso9660(image) && !isFat(image)) {
    throw new AppError('invalid_argument', 'the config drive is neither an ISO 9660 nor a FAT file system');
  }
  return image;
}

/** What a URL serves may be the base64 text or the image itself. */
function unwrap(bytes: Buffer): Buffer {
  return isGzip(bytes) || isIso9660(bytes) || isFat(bytes) ? bytes : decodeBase64(bytes.toString('latin1'));
}

function decodeBase64(text: string): Buffer {
  const compact = text.replaceAll(/\s/g, '');
  if (compact === '' || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(compact)) {
    throw new AppError('invalid_argument', 'the config drive is not base64 of a gzipped ISO 9660 or FAT file system');
  }
  return Buffer.from(compact, 'base64');
}

function unzip(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: maxConfigDriveBytes });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    throw new AppError('invalid_argument', 'unpack the gzipped config drive', { cause });
  }
}

function tooLarge(): AppError {
  return new AppError('invalid_argument', `the config drive is larger than ${maxConfigDriveBytes} bytes`);
}

function isGzip(bytes: Buffer): boolean {
  return bytes.length > 2 && bytes.readUInt16BE(0) === 0x1f8b;
}

/** The primary volume descriptor stands in sector 16. */
function isIso9660(bytes: Buffer): boolean {
  return bytes.subarray(0x8001, 0x8006).toString('latin1') === 'CD001';
}

function isFat(bytes: Buffer): boolean {
  const signed = bytes.length >= 512 && bytes.readUInt16LE(510) === 0xaa55;
  return signed && [54, 82].some((at) => bytes.subarray(at, at + 3).toString('latin1') === 'FAT');
}
