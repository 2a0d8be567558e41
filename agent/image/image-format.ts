import { type Compression, detectCompression } from '#agent/image/compression.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Formats that can be written. */
export type ImageFormat = 'raw' | 'qcow2';

/** What an image's first bytes are known by; places as in their specifications. */
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
  ['a zip archive', 0, 'PK\u0003\u0004'],
  ['compressed with bzip2', 0, 'BZh'],
  ['a tar archive', 257, 'ustar'],
  ['a web page', 0, '<!DOCTYPE'],
  ['a web page', 0, '<html'],
];

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
  const found = findSignature(head);
  if (found !== undefined) throw mismatch(declared, found);
}

function findSignature(head: Buffer): string | undefined {
  return signatures.find(([, at, text]) => head.subarray(at, at + text.length).toString('latin1') === text)?.[0];
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
