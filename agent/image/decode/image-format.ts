import { type Compression, detectCompression, skippedBytes } from '#agent/image/decode/compression.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Formats that can be written. */
export type ImageFormat = 'raw' | 'qcow2';

/** Signatures that an image's first bytes are known by; places as in their specifications. */
const signatures: ReadonlyArray<readonly [what: string, at: number, text: string]> = [
  ['a qcow2 image', 0, 'QFI\u00fb'],
  ['a QED image', 0, 'QED\u0000'],
  ['a VMDK image', 0, 'KDMV'],
  ['a VMDK image', 0, 'COWD'],
  ['a VMDK image', 0, '# Disk DescriptorFile'],
  ['a VHDX image', 0, 'vhdxfile'],
  ['a VHD image', 0, 'conectix'],
  ['a VDI image', 64, '\u007f\u0010\u00da\u00be'],
  ['a LUKS volume', 0, 'LUKS\u00ba\u00be'],
  ['an ISO 9660 image', 32_769, 'CD001'],
  ['a Parallels image', 0, 'WithoutFreeSpace'],
  ['a Parallels image', 0, 'WithouFreSpacExt'],
  ['an Android sparse image', 0, ':\u00ff&\u00ed'],
  ['a WIM image', 0, 'MSWIM\0\0\0'],
  ['a zip archive', 0, 'PK\u0003\u0004'],
  ['a 7z archive', 0, '7z\u00bc\u00af\u0027\u001c'],
  ['a RAR archive', 0, 'Rar!\u001a\u0007'],
  ['a cpio archive', 0, '07070'],
  ['a Debian package', 0, '!<arch>\n'],
  ['an RPM package', 0, '\u00ed\u00ab\u00ee\u00db'],
  ['a program', 0, '\u007fELF'],
  ['compressed with bzip2', 0, 'BZh'],
  ['compressed with lz4', 0, '\u0004"M\u0018'],
  ['compressed with lz4', 0, '\u0002!L\u0018'],
  ['compressed with lzma', 0, ']\0\0'],
  ['compressed with lzip', 0, 'LZIP\u0001'],
  ['compressed with lzop', 0, '\u0089LZO\0'],
  ['compressed with compress', 0, '\u001f\u009d'],
  ['a tar archive', 257, 'ustar'],
];

/** Text in place of an image, behind blanks and a byte order mark: what a server says when it has no image. */
const texts: ReadonlyArray<readonly [what: string, pattern: RegExp]> = [
  ['a web page', /^<(?:!doctype\s+html|html|head|body|script|!--)/i],
  ['an answer of S3', /^(?:<\?xml[^>]*>\s*)?<(?:Error|ListBucketResult)\b/],
  ['an XML document', /^<\?xml\b/i],
  ['a Git LFS pointer, which names the image in another store', /^version https:\/\/git-lfs\.github\.com\/spec\//],
  ['a PGP message', /^-----BEGIN PGP /],
  ['a JSON document', /^[[{]\s*["{[\]}]/],
  ['a checksum file', /^(?:[0-9a-f]{32,128} [ *]\S|[A-Z0-9-]+ ?\([^)]+\) ?= ?[0-9a-f]{32,})/i],
];

/** Bytes of text that are looked at. */
const textBytes = 512;

/**
 * Says what the image is, by its first bytes, and refuses what was not declared: an image of another format than the
 * operator knows of may carry a reference to a file of the machine that unpacks it (agent-protocol.md §6.2).
 * @param head the file's first bytes as served, 33 KiB or more (or all of it)
 * @param declared `image_info.disk_format`: `raw`, `gpt`, `qcow2`; nothing declares nothing
 * @throws AppError `image_error` when it is something else, naming both.
 */
export function inspectImage(
  head: Buffer,
  declared: string | null | undefined,
): { readonly format: ImageFormat; readonly compression: Compression } {
  const compression = detectCompression(head);
  const found = compression === 'none' ? (findSignature(head) ?? 'a raw image') : `compressed with ${compression}`;
  if (found === 'a qcow2 image' && (declared === 'qcow2' || !declared)) return { format: 'qcow2', compression };
  const isRaw = compression !== 'none' || found === 'a raw image';
  if (isRaw && declared !== 'qcow2') return { format: 'raw', compression };
  throw mismatch(declared, found);
}

/**
 * Refuses a raw image whose bytes, once unpacked, are another format.
 * @throws AppError `image_error`
 */
export function requireKnownFormat(head: Buffer, declared: string | null | undefined): void {
  const compression = detectCompression(head);
  const found = compression === 'none' ? findSignature(head) : `compressed with ${compression}, inside another packing`;
  if (found !== undefined) throw mismatch(declared, found);
}

function findSignature(head: Buffer): string | undefined {
  return findBinary(head) ?? findText(head);
}

function findBinary(file: Buffer): string | undefined {
  // lz4 may begin with frames to be skipped, too
  const head = file.subarray(skippedBytes(file));
  return signatures.find(([, at, text]) => head.subarray(at, at + text.length).toString('latin1') === text)?.[0];
}

function findText(head: Buffer): string | undefined {
  const text = head.toString('latin1', 0, textBytes).replace(/^(?:\u00ef\u00bb\u00bf)?\s+|^\u00ef\u00bb\u00bf/, '');
  return texts.find(([, pattern]) => pattern.test(text))?.[0];
}

function mismatch(declared: string | null | undefined, found: string): AppError {
  const wanted = declared
    ? `instance_info.image_disk_format is "${declared}"${declared === 'raw' ? ' (the default)' : ''}`
    : 'no instance_info.image_disk_format is set';
  return new AppError(
    'image_error',
    `${wanted}, but what arrived is ${found}: raw images (plain or compressed with zstd, gzip or xz) and plain qcow2 images can be written`,
  );
}
