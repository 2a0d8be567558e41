import { constants, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Disk } from '#agent/image/disk/disk.ts';

export interface FakeDisk extends AsyncDisposable {
  readonly name: string;
  readonly sizeBytes: number;
  readonly logicalSectorBytes: number;
  /** The ranges zeroed by offload so far. */
  readonly zeroed: readonly (readonly [number, number])[];
  open(): Promise<Disk>;
  content(): Promise<Buffer>;
}

/** A file that stands in for a disk, full of old bytes (0xaa); `offload` gives it write-zeroes. */
export async function createFakeDisk(sizeBytes: number, offload: boolean, rotational = false): Promise<FakeDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-disk-'));
  const name = join(folder, 'disk');
  await writeFile(name, Buffer.alloc(sizeBytes, 0xaa));
  const zeroed: (readonly [number, number])[] = [];
  const handles: Disk['handle'][] = [];
  return {
    name,
    sizeBytes,
    logicalSectorBytes: 512,
    zeroed,
    content: () => readFile(name),
    open: async () => {
      const handle = await openDirect(name);
      handles.push(handle);
      const disk = { name, handle, sizeBytes, sectorBytes: 512, rotational, close: () => handle.close() };
      if (!offload) return disk;
      return {
        ...disk,
        zeroRange: async (offset, length) => {
          zeroed.push([offset, length]);
          const plain = await open(name, 'r+');
          await plain.write(Buffer.alloc(length), 0, length, offset);
          await plain.sync();
          await plain.close();
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      for (const handle of handles) await handle.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** With direct I/O where the file system can, so that misaligned buffers show. */
async function openDirect(name: string): Promise<Disk['handle']> {
  try {
    return await open(name, constants.O_RDWR | constants.O_DIRECT);
  } catch {
    return open(name, constants.O_RDWR);
  }
}
