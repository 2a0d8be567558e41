import { promisify } from 'node:util';
import { constants, zstdCompress } from 'node:zlib';
import { packedLimit } from '#shared/chunks/chunk-index.ts';

const compress = promisify(zstdCompress);

/**
 * Packs a chunk as stores have it: one frame of zstd. Node compresses into buffers of `chunkSize`, and behind a frame that
 * fills its last one exactly (one of 16,384, by default) it writes an empty second frame: so all goes into one.
 */
export function packChunk(bytes: Uint8Array, level: number): Promise<Buffer> {
  const chunkSize = packedLimit({ length: bytes.length });
  return compress(bytes, { chunkSize, params: { [constants.ZSTD_c_compressionLevel]: level } });
}
