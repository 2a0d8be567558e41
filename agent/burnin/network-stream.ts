import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { crc32 } from 'node:zlib';
import { AppError } from '#shared/errors/app-error.ts';

/** Number of the block, checksum, then random bytes. */
const headBytes = 12;
export const blockBytes = 256 * 1024;

/** Sends numbered blocks with checksums until `isOver`, then ends the stream. @returns bytes sent */
export async function sendBlocks(socket: Socket, isOver: () => boolean): Promise<number> {
  const payload = randomBytes(blockBytes - headBytes);
  let number = 0;
  for (; !isOver(); number += 1) {
    const block = Buffer.allocUnsafe(blockBytes);
    block.writeBigUInt64LE(BigInt(number), 0);
    payload.copy(block, headBytes);
    // each block differs from the last everywhere the link may repeat it
    block.writeUInt32LE(number >>> 0, headBytes);
    block.writeUInt32LE(crc32(block.subarray(headBytes)), 8);
    if (!socket.write(block)) await once(socket, 'drain');
  }
  socket.end();
  socket.resume(); // else the other side's end is never read
  return number * blockBytes;
}

/**
 * Reads what `sendBlocks` sent, to the end of the stream.
 * @returns bytes received as they were sent
 * @throws AppError `unavailable` naming the block that came damaged, twice or not at all.
 */
export async function receiveBlocks(socket: Socket, onBytes: (bytes: number) => void): Promise<number> {
  let rest: Buffer = Buffer.alloc(0);
  let number = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (; rest.length >= blockBytes; number += 1) {
      checkBlock(rest.subarray(0, blockBytes), number);
      rest = rest.subarray(blockBytes);
      onBytes(blockBytes);
    }
  }
  if (rest.length > 0) {
    throw new AppError('unavailable', `the stream ended inside block ${number}`, { retryable: false });
  }
  return number * blockBytes;
}

function checkBlock(block: Buffer, expected: number): void {
  const number = block.readBigUInt64LE(0);
  if (number !== BigInt(expected)) {
    throw new AppError('unavailable', `block ${expected} came as block ${number}`, { retryable: false });
  }
  if (block.readUInt32LE(8) !== crc32(block.subarray(headBytes))) {
    throw new AppError('unavailable', `block ${expected} came damaged`, { retryable: false });
  }
}
