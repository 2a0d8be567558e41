import { AppError } from '#shared/errors/app-error.ts';

/** How messages of NETCONF follow each other on a stream (RFC 6242): an end mark, and after the hello of base:1.1 chunks. */

const endMark = Buffer.from(']]>]]>');

export function frame(message: string, isChunked: boolean): string {
  return isChunked ? `\n#${Buffer.byteLength(message)}\n${message}\n##\n` : `${message}${endMark.toString()}`;
}

/** Cost of a part beside its bytes: of tiny chunks, the objects that keep them would be most of the memory. */
const partBytes = 128;

export interface Unframer {
  /** Messages that end with this piece. @throws AppError `switch_error` for wrong chunks, or a message above the limit */
  push(piece: Buffer): string[];
  /** From the next message on. */
  useChunks(): void;
}

export function createUnframer(maximumBytes: number): Unframer {
  let isChunked = false;
  let unread: Buffer = Buffer.alloc(0);
  /** Parts of the message that has begun. */
  let parts: Buffer[] = [];
  let cost = 0;
  /** Bytes of the chunk that are still to come. */
  let left = 0;
  const take = (bytes: number): void => {
    if (bytes === 0) return;
    parts.push(unread.subarray(0, bytes));
    cost += bytes + partBytes;
    unread = unread.subarray(bytes);
    if (cost > maximumBytes)
      throw new AppError('switch_error', `a message of the switch has more than ${maximumBytes} bytes, parts counted`);
  };
  const message = (): string => {
    const text = Buffer.concat(parts).toString('utf8');
    parts = [];
    cost = 0;
    return text;
  };
  /** The next message, when it is whole. */
  const next = (): string | undefined => (isChunked ? nextOfChunks() : nextToMark());
  const nextToMark = (): string | undefined => {
    const at = unread.indexOf(endMark);
    // what may be the beginning of a mark stays
    take(at >= 0 ? at : Math.max(0, unread.length - endMark.length + 1));
    if (at < 0) return undefined;
    unread = unread.subarray(endMark.length);
    return message();
  };
  const nextOfChunks = (): string | undefined => {
    for (;;) {
      if (left > 0) {
        const bytes = Math.min(left, unread.length);
        take(bytes);
        left -= bytes;
        if (left > 0) return undefined;
      }
      const head = /^\n#(?:(\d{1,10})|#)\n/.exec(unread.subarray(0, 16).toString('latin1'));
      if (!head) {
        const isWrong = !/^(?:\n(?:#(?:\d{0,10}|#)?)?)?$/.test(unread.subarray(0, 16).toString('latin1'));
        if (isWrong) throw new AppError('switch_error', 'the switch sends wrong chunks');
        return undefined;
      }
      unread = unread.subarray(head[0].length);
      if (head[1] === undefined) return message();
      left = Number(head[1]);
    }
  };
  return {
    push: (piece) => {
      unread = unread.length === 0 ? piece : Buffer.concat([unread, piece]);
      const messages: string[] = [];
      for (let ended = next(); ended !== undefined; ended = next()) messages.push(ended);
      return messages;
    },
    useChunks: () => {
      isChunked = true;
    },
  };
}
