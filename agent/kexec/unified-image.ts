import { notUnderstood } from '#agent/kexec/grub-script.ts';

/** Part of a file, in bytes. */
export interface FilePart {
  readonly offset: number;
  readonly length: number;
}

/** Headers of all sections are within. */
export const peHeadBytes = 64 * 1024;
const maxSections = 96;
/** Sections of which it is not known here what systemd's stub would do with them. */
const foreign = ['.profile', '.dtb', '.dtbauto', '.efifw'];

/**
 * Sections of a unified kernel image (UAPI.5; PE/COFF, little-endian), by name. Pure.
 * @param head its first bytes, `fileBytes` of them in all
 * @throws AppError `not_supported` for what is none, or has sections that change what is booted
 */
export function readSections(head: Buffer, fileBytes: number): ReadonlyMap<string, FilePart> {
  const start = head.length >= 64 && head.toString('latin1', 0, 2) === 'MZ' ? head.readUInt32LE(0x3c) : Infinity;
  if (start + 24 > head.length || head.toString('latin1', start, start + 4) !== 'PE\0\0')
    throw broken('it is not a PE file');
  const count = head.readUInt16LE(start + 6);
  const table = start + 24 + head.readUInt16LE(start + 20);
  if (count > maxSections || table + 40 * count > head.length) throw broken('it has too many sections');
  const sections = new Map<string, FilePart>();
  for (let at = table; at < table + 40 * count; at += 40) {
    const name = head.toString('latin1', at, at + 8).replace(/\0.*$/s, '');
    // of what is stored, the rest is padding
    const length = Math.min(head.readUInt32LE(at + 8), head.readUInt32LE(at + 16));
    const offset = head.readUInt32LE(at + 20);
    if (offset + length > fileBytes) throw broken(`its section ${name} is cut short`);
    if (foreign.includes(name)) throw broken(`its section ${name} is not supported`);
    if (sections.has(name) && ['.linux', '.initrd', '.ucode', '.cmdline'].includes(name)) {
      throw broken(`it has several sections ${name}`);
    }
    sections.set(name, { offset, length });
  }
  if (!sections.has('.linux')) throw broken('it has no section .linux');
  return sections;
}

function broken(what: string): Error {
  return notUnderstood(`the unified kernel image can't be used: ${what}`);
}
