export type Compression = 'none' | 'zstd' | 'gzip' | 'xz';

const zstdMagic = [0x28, 0xb5, 0x2f, 0xfd];
const magics: readonly (readonly [Compression, readonly number[]])[] = [
  ['gzip', [0x1f, 0x8b, 0x08]],
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]],
];

/** How an image is packed, by its first bytes; frames that decoders skip (RFC 8878 §3.1.2) may precede those of zstd. */
export function detectCompression(head: Uint8Array): Compression {
  const at = skippedBytes(head);
  // lz4 has them too; where the first bytes show nothing else the decoder will
  const isBehindHead = at > 0 && at >= head.length;
  if (isBehindHead || zstdMagic.every((byte, index) => head[at + index] === byte)) return 'zstd';
  if (at > 0) return 'none';
  return magics.find(([, magic]) => magic.every((byte, index) => head[index] === byte))?.[0] ?? 'none';
}

/** Where what decoders do not skip begins. */
export function skippedBytes(head: Uint8Array): number {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  let at = 0;
  while (at + 8 <= head.length && view.getUint32(at, true) >>> 4 === 0x184d2a5) at += 8 + view.getUint32(at + 4, true);
  return at;
}

/**
 * Bytes that the first zstd frame unpacks to, from its header (RFC 8878 §3.1.1.1); `undefined` when the frame does
 * not say. Files of several frames hold more, so it is a lower bound.
 */
export function zstdContentSize(head: Uint8Array): number | undefined {
  const frame = head.subarray(skippedBytes(head));
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (frame.length < 18) return undefined;
  const descriptor = view.getUint8(4);
  const singleSegment = (descriptor & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 0x03] ?? 0;
  const at = 5 + (singleSegment ? 0 : 1) + dictionaryBytes;
  switch (descriptor >> 6) {
    case 0:
      return singleSegment ? view.getUint8(at) : undefined;
    case 1:
      return view.getUint16(at, true) + 256;
    case 2:
      return view.getUint32(at, true);
    default:
      return Number(view.getBigUint64(at, true));
  }
}
