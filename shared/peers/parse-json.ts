import { Worker } from 'node:worker_threads';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/limit-at-once.ts';

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
 * @returns `undefined` for what is no JSON
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
