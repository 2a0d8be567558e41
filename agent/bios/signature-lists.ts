import { createHash } from 'node:crypto';
import { AppError } from '#shared/errors/app-error.ts';

/** Secure Boot keys as operators have them (UEFI 8.2.2, 32.4.1): `.esl` = signature lists, `.auth` = signed ones. */
export interface KeyUpdate {
  /** Bytes to be written: signature lists behind a descriptor. */
  readonly payload: Buffer;
  /** Content of the variable afterwards. */
  readonly lists: Buffer;
  readonly isSigned: boolean;
}

const timeBytes = 16;
const certificateHead = 24;
const revision = 0x0200;
const efiGuidType = 0x0ef1;
/** EFI_CERT_TYPE_PKCS7_GUID as bytes. */
const pkcs7 = Buffer.from('9dd2af4adf68ee498aa9347d375665a7', 'hex');

/**
 * @param text base64 of a `.esl` or `.auth` file
 * @throws AppError `invalid_argument` when it is neither.
 */
export function parseKeyUpdate(name: string, text: string, now: Date): KeyUpdate {
  const bytes = Buffer.from(text, 'base64');
  const signed = /^[A-Za-z0-9+/=\s]+$/.test(text) ? splitSigned(bytes) : undefined;
  if (signed) return { payload: bytes, lists: signed, isSigned: true };
  if (areSignatureLists(bytes))
    return { payload: Buffer.concat([unsigned(now), bytes]), lists: bytes, isSigned: false };
  throw new AppError(
    'invalid_argument',
    `BIOS settings: ${name}: it must be the base64 text of signature lists (.esl) or of signed ones (.auth)`,
  );
}

/** How a key variable's content is shown. */
export function fingerprint(content: Buffer | undefined): string {
  if (content === undefined || content.length === 0) return 'none';
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

/** The lists behind an EFI_VARIABLE_AUTHENTICATION_2 descriptor. */
function splitSigned(bytes: Buffer): Buffer | undefined {
  if (bytes.length < timeBytes + certificateHead) return undefined;
  const length = bytes.readUInt32LE(timeBytes);
  const isDescriptor =
    bytes.readUInt16LE(timeBytes + 4) === revision &&
    bytes.readUInt16LE(timeBytes + 6) === efiGuidType &&
    bytes.subarray(timeBytes + 8, timeBytes + certificateHead).equals(pkcs7) &&
    length > certificateHead;
  if (!isDescriptor) return undefined;
  const lists = bytes.subarray(timeBytes + length);
  return areSignatureLists(lists) ? lists : undefined;
}

/** EFI_SIGNATURE_LISTs one after the other, whose sizes add up to the whole. */
function areSignatureLists(bytes: Buffer): boolean {
  const head = 28;
  let offset = 0;
  while (offset + head <= bytes.length) {
    const size = bytes.readUInt32LE(offset + 16);
    const headerSize = bytes.readUInt32LE(offset + 20);
    const signatureSize = bytes.readUInt32LE(offset + 24);
    const signatures = size - head - headerSize;
    if (signatureSize < 17 || signatures <= 0 || signatures % signatureSize !== 0) return false;
    offset += size;
  }
  return offset === bytes.length && offset > 0;
}

/** In setup mode the firmware wants the descriptor, with a time, but no signature. */
function unsigned(now: Date): Buffer {
  const bytes = Buffer.alloc(timeBytes + certificateHead);
  bytes.writeUInt16LE(now.getUTCFullYear(), 0);
  bytes.writeUInt8(now.getUTCMonth() + 1, 2);
  bytes.writeUInt8(now.getUTCDate(), 3);
  bytes.writeUInt8(now.getUTCHours(), 4);
  bytes.writeUInt8(now.getUTCMinutes(), 5);
  bytes.writeUInt8(now.getUTCSeconds(), 6);
  bytes.writeUInt32LE(certificateHead, timeBytes);
  bytes.writeUInt16LE(revision, timeBytes + 4);
  bytes.writeUInt16LE(efiGuidType, timeBytes + 6);
  pkcs7.copy(bytes, timeBytes + 8);
  return bytes;
}
