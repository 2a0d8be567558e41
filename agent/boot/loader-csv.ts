import { dirname } from 'node:path';

/** One line of a CSV file by which shim's fallback program makes boot entries. */
export interface CsvLine {
  /** `EFI/debian/shimx64.efi`, below the file system's root. */
  readonly file: string;
  readonly label: string;
  /** Text that the firmware hands to the loader; a unified kernel image that shim is to start. */
  readonly data: string | undefined;
}

/**
 * Reads `BOOTX64.CSV`: a loader in the same folder, label, data, comment; in UTF-16 of either byte order, or ASCII. Lines
 * that lack a loader or a label are passed over, as shim does. Pure.
 * @param path the CSV file's own, `EFI/debian/BOOTX64.CSV`
 */
export function parseLoaderCsv(bytes: Buffer, path: string): readonly CsvLine[] {
  const folder = dirname(path);
  return decode(bytes)
    .split(/[\r\n\0]+/)
    .flatMap((line) => {
      const [file, label, data] = fieldsOf(line);
      return file && label ? [{ file: `${folder}/${file}`, label, data: data || undefined }] : [];
    });
}

function decode(bytes: Buffer): string {
  const mark = bytes.length >= 2 ? bytes.readUInt16LE(0) : 0;
  const isBigEndian = mark === 0xfffe || (mark !== 0xfeff && bytes.length >= 2 && bytes[0] === 0 && bytes[1] !== 0);
  const isUtf16 = isBigEndian || mark === 0xfeff || (bytes.length >= 2 && bytes[1] === 0);
  const even = bytes.subarray(0, bytes.length - (bytes.length % 2));
  const text = isUtf16 ? (isBigEndian ? Buffer.from(even).swap16() : even).toString('utf16le') : bytes.toString('utf8');
  return text.replace(/^\ufeff/, '');
}

/** Fields at commas, those in quotation marks as a whole. */
function fieldsOf(line: string): readonly string[] {
  return [...line.matchAll(/(?:^|,)\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))/g)].map(([, quoted, bare = '']) =>
    (quoted?.replaceAll('""', '"') ?? bare).trim(),
  );
}
