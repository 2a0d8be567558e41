export interface Filtered {
  /** What goes to the shell. */
  readonly bytes: Buffer;
  /** The person at the keyboard wants to leave. */
  readonly isLeaving: boolean;
}

const tilde = 0x7e;
const dot = 0x2e;
const newline = new Set([0x0a, 0x0d]);

/**
 * ssh's way out of a shell that does not answer any more: `~.` at the beginning of a line leaves, `~~` there sends one
 * tilde. A tilde at the beginning of a line is held back until the next key.
 */
export function createEscapeFilter(): (chunk: Buffer) => Filtered {
  let place: 'line start' | 'after tilde' | 'in line' = 'line start';
  return (chunk) => {
    const bytes: number[] = [];
    for (const byte of chunk) {
      if (place === 'line start' && byte === tilde) {
        place = 'after tilde';
        continue;
      }
      if (place === 'after tilde') {
        if (byte === dot) return { bytes: Buffer.from(bytes), isLeaving: true };
        bytes.push(tilde);
        if (byte === tilde) {
          place = 'in line';
          continue;
        }
      }
      bytes.push(byte);
      place = newline.has(byte) ? 'line start' : 'in line';
    }
    return { bytes: Buffer.from(bytes), isLeaving: false };
  };
}
