import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { WrittenBytes } from '#agent/image/disk/image-target.ts';
import { createFakeDisk, type FakeDisk } from '#agent/image/testing/fake-disk.ts';
import { type Behaviour, serveImage } from '#agent/image/testing/image-server.ts';
import { type WriteImageOptions, writeImage } from '#agent/image/write-image.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { Progress } from '#shared/wire/progress.ts';

export const mib = 1024 * 1024;
const diskBytes = 8 * mib;

/** Data, a hole of 2.5 MiB with a small island in it, data, and an end that is not a whole sector. */
export const image = Buffer.alloc(5 * mib + 100);
for (let at = 0; at < mib + 5; at += 4) image.writeUInt32LE(((at * 2654435761) % 0xffffffff) >>> 0, at);
image.fill('island', 2 * mib + 70_000, 2 * mib + 70_100);
image.fill('tail', 4 * mib);

export interface Setup {
  readonly data?: Buffer;
  readonly behaviours?: readonly Behaviour[];
  /** How requests are answered for which there is no behaviour. */
  readonly always?: Behaviour;
  readonly disk?: { readonly sizeBytes?: number; readonly offload?: boolean; readonly rotational?: boolean };
  readonly options?: Partial<WriteImageOptions>;
}

interface Outcome {
  readonly written?: WrittenBytes;
  readonly error?: unknown;
  readonly content: Buffer;
  readonly requests: readonly string[];
  readonly sleeps: readonly number[];
  readonly progress: readonly Progress[];
  readonly zeroed: FakeDisk['zeroed'];
  readonly opened: boolean;
}

/** Serves `data` as the behaviours say, and writes it to a file that stands in for a disk. */
export async function write({
  data = image,
  behaviours = [],
  always,
  disk = {},
  options = {},
}: Setup): Promise<Outcome> {
  await using server = await serveImage(data, behaviours, always);
  await using target = await createFakeDisk(disk.sizeBytes ?? diskBytes, disk.offload ?? true, disk.rotational);
  const sleeps: number[] = [];
  const progress: Progress[] = [];
  let time = 0;
  // every look at the clock is a second later, so that each slot is reported
  const clock: Clock = { now: () => new Date((time += 1000)), sleep: async (ms) => void sleeps.push(ms) };
  let opened = false;
  const openDisk = async () => {
    opened = true;
    return target.open();
  };
  const seen = () => ({ requests: server.requests, sleeps, progress, zeroed: target.zeroed, opened });
  try {
    const written = await writeImage(target, openDisk, {
      urls: [server.url],
      checksum: { algorithm: 'sha256', hex: sha256(data) },
      clock,
      log: silentLog,
      signal: new AbortController().signal,
      reportProgress: (each) => progress.push(each),
      maxTries: 4,
      ...options,
    });
    return { written, content: await target.content(), ...seen() };
  } catch (error) {
    return { error, content: await target.content(), ...seen() };
  }
}

export function sha256(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}

/** Whether the image is on the disk byte by byte. */
export function isWritten(outcome: Outcome): boolean {
  expect(outcome.error).toBeUndefined();
  return outcome.content.subarray(0, image.length).equals(image);
}

/** Describes what the operator sees; `untouched`: the first MiB is as it was, so that the disk does not boot. */
export function failureOf(outcome: Outcome): {
  readonly code: string;
  readonly text: string;
  readonly untouched: boolean;
} {
  expect(outcome.error).toBeInstanceOf(AppError);
  return {
    code: errorCode(outcome.error),
    text: errorChain(outcome.error),
    untouched: outcome.content.subarray(0, mib).every((byte) => byte === 0xaa),
  };
}

export function failure(code: string, text: RegExp): unknown {
  return { code, text: expect.stringMatching(text), untouched: true };
}
