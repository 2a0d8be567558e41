import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { type BytesByOrigin, describeOrigin } from '#shared/wire/progress.ts';

/** The image that this boot of the ramdisk wrote last. */
export interface WrittenImage {
  readonly imageId: string;
  /** Hex digest of the image as served: the same id may carry another image later. */
  readonly checksum: string;
  /** `/dev/vda` */
  readonly device: string;
  /**
   * Identifier of the root: of a whole-disk image the MBR's disk identifier, `0x12345678`, or `null` when it is zero;
   * of a partition image the root file system's UUID.
   */
  readonly rootUuid: string | null;
  /** UUID of a partition image's ESP; `null` without ESP. */
  readonly efiSystemPartitionUuid?: string | null;
  /** Origins of the bytes of an image in chunks. */
  readonly origin?: BytesByOrigin;
  /** The device that `headSha256` is of, when that is not the whole device: `/dev/vda3`. */
  readonly headOf?: string;
  /** Digest of the first MiB as the step left it: something else may have changed the disk since. */
  readonly headSha256: string;
}

/** Where the write step leaves what it did, for the commands after it. */
export interface WrittenImageRecord {
  current: WrittenImage | undefined;
}

/** `standby.get_partition_uuids` (agent-protocol.md §4.1); `{}` before any image was written. */
export function partitionUuids(written: WrittenImageRecord): Readonly<Record<string, string | null>> {
  if (!written.current) return {};
  const { rootUuid, efiSystemPartitionUuid } = written.current;
  return {
    'root uuid': rootUuid,
    ...(efiSystemPartitionUuid ? { 'efi system partition uuid': efiSystemPartitionUuid } : {}),
  };
}

/** The text that Ironic's agent answers a write with; behind it, of an image in chunks, where its bytes came from. */
export function writtenText(image: WrittenImage, verb: 'written to' | 'already present on'): string {
  const figures = image.origin ? ` ${describeOrigin(image.origin)}` : '';
  return `image (${image.imageId}) ${verb} device ${image.device} root_uuid=${image.rootUuid ?? 'None'}${figures}`;
}

const headBytes = 1024 * 1024;

/** SHA-256 of the first MiB of a disk (boot code, partition table) or partition (superblock), in hex. */
export async function digestHead(deviceName: string): Promise<string> {
  const handle = await open(deviceName, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex');
  } finally {
    await handle.close();
  }
}
