import { gunzipSync } from 'node:zlib';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { AppError } from '#shared/errors/app-error.ts';

const mib = 1024 * 1024;

/**
 * Unpacked config drives may not be larger. Their partition has 64 MiB (agent-protocol.md §6.3), but they come as
 * base64 inside a command, are decoded in memory, and must leave room for both in a ramdisk.
 */
export const maxConfigDriveBytes = 32 * mib;
/** Base64 takes a third more than the bytes it stands for, and line ends. */
export const maxConfigDriveTextBytes = 1.4 * maxConfigDriveBytes;

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

/**
 * Refuses a config drive that Linux could not mount from this disk: what stands on it can't be read in smaller pieces
 * than the disk's sectors. ISO 9660 has sectors of 2048 bytes.
 * @throws AppError `not_supported`.
 */
export function checkMountable(image: Buffer, disk: Pick<BlockDevice, 'name' | 'logicalSectorBytes'>): void {
  const [format, sectorBytes] = isIso9660(image)
    ? (['ISO 9660', 2048] as const)
    : (['FAT', image.readUInt16LE(fatSectorBytesAt)] as const);
  if (disk.logicalSectorBytes <= sectorBytes) return;
  throw new AppError(
    'not_supported',
    `the config drive is ${format} with sectors of ${sectorBytes} bytes, which can't be mounted from disk ${disk.name} with sectors of ${disk.logicalSectorBytes}: give it as FAT made for such sectors (mkfs.vfat -S ${disk.logicalSectorBytes})`,
  );
}

/** Unwraps what a URL serves: the base64 text or the image itself. */
function unwrap(bytes: Buffer): Buffer {
  return isGzip(bytes) || isIso9660(bytes) || isFat(bytes) ? bytes : decodeBase64(bytes.toString('latin1'));
}

function decodeBase64(text: string): Buffer {
  if (text.length > maxConfigDriveTextBytes) throw tooLarge();
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
  return new AppError('invalid_argument', `the config drive is larger than ${maxConfigDriveBytes / mib} MiB unpacked`);
}

function isGzip(bytes: Buffer): boolean {
  return bytes.length > 2 && bytes.readUInt16BE(0) === 0x1f8b;
}

/** In the boot sector of FAT. */
const fatSectorBytesAt = 11;

/** The primary volume descriptor stands in sector 16. */
function isIso9660(bytes: Buffer): boolean {
  return bytes.subarray(0x8001, 0x8006).toString('latin1') === 'CD001';
}

function isFat(bytes: Buffer): boolean {
  const signed = bytes.length >= 512 && bytes.readUInt16LE(510) === 0xaa55;
  return signed && [54, 82].some((at) => bytes.subarray(at, at + 3).toString('latin1') === 'FAT');
}
