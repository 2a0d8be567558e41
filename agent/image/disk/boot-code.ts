import type { ImageRest } from '#agent/image/disk/image-rest.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Bytes that a PC's firmware runs: the first sector without table and signature. */
const codeBytes = 440;
const sectorBytes = 512;
const entriesAt = [446, 462, 478, 494] as const;
const active = 0x80;
/** Where GRUB's `boot.img` says which sector it loads (`include/grub/i386/pc/boot.h`). */
const grubSectorAt = 0x5c;

/**
 * Holds an image against a BIOS, which starts the code in the first sector and knows nothing else. What kind of code it is
 * may not be known; what is known not to start is refused.
 * @param head the image's first sector, or more
 * @throws AppError `image_error` without code, where GRUB's code loads an empty sector, and where code that starts the
 * active partition finds none
 */
export async function requireBootCode(head: Buffer, { look }: Pick<ImageRest, 'look'>): Promise<void> {
  const code = head.subarray(0, codeBytes);
  const isSigned = head.length >= sectorBytes && head.readUInt16LE(sectorBytes - 2) === 0xaa55;
  if (!isSigned || code.every((byte) => byte === 0)) throw refusal('has no boot code in its first sector');
  const words = code.toString('latin1');
  if (words.includes('GRUB ') && words.includes('Hard Disk')) {
    const sector = Number(code.readBigUInt64LE(grubSectorAt));
    const core = sector < 2 ** 32 ? await look(sector * sectorBytes, sectorBytes) : undefined;
    if (core?.length === sectorBytes && core.every((byte) => byte === 0)) {
      throw refusal(
        `has GRUB's boot code, which loads sector ${sector}, and there is nothing there (grub-install has not run)`,
      );
    }
  }
  // Windows', syslinux' and the like: "Missing operating system" is what they would say
  if (/[Mm]issing operating system/.test(words) && entriesAt.every((at) => head[at] !== active)) {
    throw refusal('has boot code that starts the active partition, and no partition is marked active');
  }
}

function refusal(what: string): AppError {
  return new AppError(
    'image_error',
    `the image ${what}, and the machine boots by BIOS: give an image for BIOS, or set capabilities boot_mode:uefi`,
  );
}
