import type { LldpTlv } from '#shared/wire/inventory.ts';

const etherType = 0x88cc;
const headerBytes = 14;
const endOfFrame = 0;

/**
 * The TLVs of an Ethernet frame with LLDP (IEEE 802.1AB-2016 §8), without the one that ends it; `undefined` when it is
 * another frame, or cut off in the middle of one. What is behind the end is padding.
 */
export function parseLldpFrame(frame: Buffer): readonly LldpTlv[] | undefined {
  if (frame.length < headerBytes + 2 || frame.readUInt16BE(12) !== etherType) return undefined;
  const tlvs: LldpTlv[] = [];
  for (let at = headerBytes; at + 2 <= frame.length; ) {
    const header = frame.readUInt16BE(at);
    const [type, length] = [header >> 9, header & 0x1ff];
    at += 2;
    if (type === endOfFrame) return tlvs;
    if (at + length > frame.length) return undefined;
    tlvs.push([type, frame.toString('hex', at, at + length)]);
    at += length;
  }
  return tlvs;
}
