import { Worker } from 'node:worker_threads';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/in-parallel.ts';
import type { PeerLimits } from '#shared/peers/peer-limits.ts';

/** Below it parsing takes less than some 10 ms, whatever the text. */
const atOnceBytes = 1024 * 1024;
/** Above it the text is mostly long strings, which another thread unescapes and hands over as they are. */
const sparseBytesPerValue = 64;

/** In text, so that a bundle needs no second file. */
const program = `
const { parentPort, workerData: bytes } = require('node:worker_threads');
let value;
try { value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8').replace(/^\uFEFF/, '')); } catch {}
parentPort.postMessage(value);`;

/**
 * Parses a text whose depth and values a meter has counted: what is large and mostly text on another thread. What consists
 * of many small values would cost as much to hand over as to parse.
 * @returns `undefined` for what is not JSON
 */
export async function parseJson(bytes: Buffer, values: number): Promise<unknown> {
  const isSparse = bytes.length / (values + 1) > sparseBytesPerValue;
  if (bytes.length > atOnceBytes && isSparse) return inTurn(() => parseApart(bytes));
  try {
    return JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, '')) as unknown;
  } catch {
    return undefined;
  }
}

/** Each takes several times its bytes in memory. */
const inTurn = limitAtOnce({ most: 1 });

async function parseApart(bytes: Buffer): Promise<unknown> {
  const worker = new Worker(program, { eval: true, env: {}, execArgv: [], workerData: bytes });
  try {
    return await new Promise<unknown>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', (cause) => reject(new AppError('internal', 'parse a large answer', { cause })));
    });
  } finally {
    await worker.terminate();
  }
}

/** Looks at a JSON text as it arrives, so that one that would cost too much is never parsed. */
export interface JsonMeter {
  /** @throws AppError with the limits' code, naming the limit. */
  push(chunk: Uint8Array): void;
  bytes(): number;
  values(): number;
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
    values: () => state.values,
  };
}

const byteOrderMark: ReadonlySet<number> = new Set([0xef, 0xbb, 0xbf]);
