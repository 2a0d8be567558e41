import { AppError } from '#shared/errors/app-error.ts';
import { createJsonMeter, type JsonMeter } from '#shared/peers/json-answers.ts';
import { type PeerLimits, peerLimits } from '#shared/peers/peer-limits.ts';

/** OVSDB peers send JSON objects one after another without any separator (RFC 7047 §4); this finds where each ends. */
export interface JsonObjectSplitter {
  /**
   * Takes the next bytes and answers the objects that they complete, parsed.
   * @throws AppError `switch_error` for bytes that are not JSON object, or an object above the limits.
   */
  push(chunk: Uint8Array): unknown[];
}

const quote = 0x22;
const backslash = 0x5c;
const openers: ReadonlySet<number> = new Set([0x7b, 0x5b]);
const closers: ReadonlySet<number> = new Set([0x7d, 0x5d]);
const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

export function createJsonObjectSplitter(limits: PeerLimits = peerLimits.switch): JsonObjectSplitter {
  let parts: Uint8Array[] = [];
  const newMeter = (): JsonMeter => createJsonMeter('the OVSDB server answers with', limits);
  let meter = newMeter();
  let depth = 0;
  let inString = false;
  let escaped = false;

  /** Whether the byte ends an object. Bytes of multi-byte characters are never ASCII, so a split one does no harm. */
  const endsObject = (byte: number): boolean => {
    if (inString) {
      if (escaped) escaped = false;
      else if (byte === backslash) escaped = true;
      else if (byte === quote) inString = false;
      return false;
    }
    if (byte === quote) inString = true;
    else if (openers.has(byte)) depth += 1;
    else if (closers.has(byte)) {
      depth -= 1;
      return depth === 0;
    }
    return false;
  };

  const keep = (part: Uint8Array): void => {
    meter.push(part);
    parts.push(part);
  };

  return {
    push(chunk) {
      const objects: unknown[] = [];
      let from = 0;
      for (const [index, byte] of chunk.entries()) {
        if (depth === 0 && !openers.has(byte)) {
          if (!blanks.has(byte)) throw new AppError('switch_error', 'OVSDB server sent something else than JSON');
          from = index + 1;
          continue;
        }
        if (!endsObject(byte)) continue;
        keep(chunk.subarray(from, index + 1));
        objects.push(parse(Buffer.concat(parts)));
        parts = [];
        meter = newMeter();
        from = index + 1;
      }
      if (from < chunk.length) keep(Uint8Array.from(chunk.subarray(from)));
      return objects;
    },
  };
}

function parse(object: Buffer): unknown {
  try {
    return JSON.parse(object.toString('utf8'));
  } catch (cause) {
    throw new AppError('switch_error', 'OVSDB server sent broken JSON', { cause });
  }
}
