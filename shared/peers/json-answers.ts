import { AppError } from '#shared/errors/app-error.ts';
import { parseInSlices, withoutMark } from '#shared/peers/parse-in-slices.ts';
import type { PeerLimits } from '#shared/peers/peer-limits.ts';

/** Below it parsing takes less than some milliseconds, whatever the text. */
const atOnceBytes = 256 * 1024;

/**
 * Parses a text whose depth and values a meter has counted. In a large one, long strings are read in slices, between which
 * others go on: config drives and logs of 64 MiB are such; what is left of it is parsed at once.
 * @param isLast nobody needs the bytes any more: a large text's are let go before it is whole
 * @returns `undefined` for what is not JSON
 */
export async function parseJson(bytes: Buffer, isLast = false): Promise<unknown> {
  try {
    return bytes.length <= atOnceBytes
      ? JSON.parse(withoutMark(bytes.toString('utf8')))
      : await parseInSlices(bytes, isLast);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Looks at a JSON text as it arrives, so that one that would cost too much is never parsed. */
export interface JsonMeter {
  /** @throws AppError with the limits' code, naming the limit. */
  push(chunk: Uint8Array): void;
  bytes(): number;
}

const quote = 0x22;
const backslash = 0x5c;

/** @param what how messages begin: `the agent answers with` */
export function createJsonMeter(what: string, limits: Omit<PeerLimits, 'timeoutMs'>): JsonMeter {
  const state = { bytes: 0, depth: 0, values: 0, begun: false, isJson: false, inString: false, escaped: false };
  const refuse = (fault: string): never => {
    throw new AppError(limits.code, `${what} ${fault}`);
  };
  const count = (chunk: Uint8Array): void => {
    let { depth, values, inString, escaped } = state;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (inString) {
        if (escaped) escaped = false;
        else if (byte === backslash) escaped = true;
        else if (byte === quote) inString = false;
      } else if (byte === quote) inString = true;
      else if (byte === 0x5b || byte === 0x7b) {
        values += 1;
        depth += 1;
        if (depth > limits.depth) refuse(`JSON deeper than ${limits.depth}`);
      } else if (byte === 0x5d || byte === 0x7d) depth -= 1;
      else if (byte === 0x2c || byte === 0x3a) values += 1;
    }
    Object.assign(state, { depth, values, inString, escaped });
    if (values > limits.values) refuse(`more than ${limits.values} values`);
  };
  return {
    push: (chunk) => {
      state.bytes += chunk.length;
      if (state.bytes > limits.bytes) refuse(`more than ${limits.bytes} bytes`);
      if (!state.begun) {
        const first = chunk.find((byte) => byte > 0x20 && !byteOrderMark.has(byte));
        state.begun = first !== undefined;
        state.isJson = first === 0x5b || first === 0x7b;
      }
      // pages and bare words are not documents: nobody parses them
      if (state.isJson) count(chunk);
    },
    bytes: () => state.bytes,
  };
}

const byteOrderMark: ReadonlySet<number> = new Set([0xef, 0xbb, 0xbf]);
