import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

export interface DiskLook {
  readonly sha256: string;
  /** Words, of all that were looked for, whose bytes are somewhere on the disk. */
  readonly found: readonly string[];
  readonly isZero: boolean;
}

const chunkBytes = 4 * 1024 * 1024;

/** Reads a whole disk's file from outside. */
export async function lookAtDisk(file: string, words: readonly string[]): Promise<DiskLook> {
  const needles = words.map((word) => Buffer.from(word));
  const overlap = Math.max(0, ...needles.map(({ length }) => length - 1));
  const zeros = Buffer.alloc(chunkBytes);
  const hash = createHash('sha256');
  const found = new Set<string>();
  let isZero = true;
  const buffer = Buffer.alloc(overlap + chunkBytes);
  const handle = await open(file);
  try {
    for (;;) {
      const { bytesRead } = await handle.read(buffer, overlap, chunkBytes);
      if (bytesRead === 0) break;
      const chunk = buffer.subarray(overlap, overlap + bytesRead);
      hash.update(chunk);
      if (!chunk.equals(zeros.subarray(0, bytesRead))) isZero = false;
      // what a word at the edge of two chunks has in the one before is in front
      const seen = buffer.subarray(0, overlap + bytesRead);
      for (const [index, needle] of needles.entries()) {
        const word = words[index] ?? '';
        if (!found.has(word) && seen.includes(needle)) found.add(word);
      }
      buffer.copy(buffer, 0, bytesRead, bytesRead + overlap);
    }
  } finally {
    await handle.close();
  }
  return { sha256: hash.digest('hex'), found: words.filter((word) => found.has(word)), isZero };
}
