import { open } from 'node:fs/promises';
import { join } from 'node:path';

/** `unknown`: there is no such file, or none that we understand. */
export type IpxeSignature = 'signed' | 'unsigned' | 'unknown';

/** Bytes from a file's beginning that hold its headers. */
const headerBytes = 4096;

/**
 * Reads whether the directory's `snponly.efi` has a signature, by whomever: firmware with Secure Boot refuses a program
 * without. Nobody's iPXE is signed by Microsoft; some sites sign theirs.
 */
export async function readIpxeSignature(directory: string): Promise<IpxeSignature> {
  try {
    await using file = await open(join(directory, 'snponly.efi'));
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headerBytes), 0, headerBytes, 0);
    return readSignature(buffer.subarray(0, bytesRead));
  } catch {
    return 'unknown';
  }
}

/** Reads the size of the certificate table in the headers of a PE32+ file ("PE Format", optional header, data directories). */
export function readSignature(header: Buffer): IpxeSignature {
  if (header.length < 0x40) return 'unknown';
  const start = header.readUInt32LE(0x3c);
  const size = start + 24 + 112 + 4 * 8 + 4;
  if (header.length < size + 4 || header.toString('latin1', start, start + 4) !== 'PE\0\0') return 'unknown';
  if (header.readUInt16LE(start + 24) !== 0x20b) return 'unknown';
  return header.readUInt32LE(size) === 0 ? 'unsigned' : 'signed';
}
