import type { ImageRest } from '#agent/image/disk/image-rest.ts';
import type { ImageTarget } from '#agent/image/disk/image-target.ts';
import { isExtended, type MbrEntry, sectorSizes } from '#agent/storage/disk-tables.ts';
import { nameFileSystem, probedBytes } from '#agent/storage/file-systems/file-systems.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Judges for which sectors an MBR was made, which it does not say: by the file systems at the places that it means, else
 * by the image's length. Where nothing shows it, it is for 512 bytes, as nearly all are.
 * @throws AppError `image_error` when it is for others than the disk has.
 */
export async function requireMbrSectors(
  entries: readonly MbrEntry[],
  rest: ImageRest,
  disk: ImageTarget,
): Promise<void> {
  const here = disk.logicalSectorBytes;
  const found = await findSystems(entries, rest, here);
  if (found.length === entries.length) return;
  for (const size of sectorSizes) {
    if (size === here) continue;
    const [first, ...others] = await findSystems(entries, rest, size);
    // a place may be right for one partition by one size, and for another by the other
    if (first && 1 + others.length > found.length)
      throw forOthers(disk, `${first}, where sectors of ${size} bytes put it`);
  }
  if (found.length > 0) return;
  if (here === sectorSizes[0]) return;
  const ends = Math.max(...entries.map(({ start, sectors }) => start + sectors)) * here;
  if (rest.imageBytes !== undefined && ends <= rest.imageBytes) return;
  const length =
    rest.imageBytes === undefined
      ? 'nothing shows that it is for these'
      : `the image has ${rest.imageBytes} bytes, its partitions would end at ${ends}`;
  throw forOthers(disk, length);
}

/** Describes the partitions with a file system where the table says, in sectors of this size. */
async function findSystems(
  entries: readonly MbrEntry[],
  { look }: ImageRest,
  sectorBytes: number,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of entries) {
    const start = entry.start * sectorBytes;
    const bytes = await look(start, probedBytes);
    const name = bytes && (nameFileSystem(bytes) ?? nameTable(entry, bytes));
    if (name) found.push(`partition ${entry.number} has ${name} at byte ${start}`);
  }
  return found;
}

/** An extended partition begins with a table of its own. */
function nameTable(entry: MbrEntry, bytes: Buffer): string | undefined {
  const isSigned = bytes.length >= 512 && bytes.readUInt16LE(510) === 0xaa55;
  return isExtended(entry) && isSigned ? 'a table of logical partitions' : undefined;
}

function forOthers({ name, logicalSectorBytes }: ImageTarget, reason: string): AppError {
  return new AppError(
    'image_error',
    `the image's MBR is for other sectors than the ${logicalSectorBytes} bytes of disk ${name} (${reason}): give an image made for such sectors`,
  );
}
