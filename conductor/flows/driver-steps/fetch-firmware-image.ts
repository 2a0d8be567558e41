import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/in-parallel.ts';
import { downloadFile } from '#shared/peers/ask-peer.ts';
import { type OutboundRules, outboundAgent } from '#shared/peers/outbound-url.ts';

/** The largest firmware bundles have about 1 GiB. */
const maxBytes = 4 * 1024 ** 3;

/** Each has a file on the disk until the BMC has taken it. */
const mostAtOnce = 4;
const inTurn = limitAtOnce({ most: mostAtOnce });

const prefix = 'baton-firmware-';
/** Longer than a driver takes to send an image. */
const leftAfterMs = 60 * 60_000;

const algorithms = { 40: 'sha1', 64: 'sha256', 128: 'sha512' } as const;

/** Pattern of a checksum, whose length says its kind, as in Ironic. */
export const checksumPattern = /^([0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})$/i;

/** Says why something is no checksum that is known here. */
export function describeWrongChecksum(given: unknown): string {
  const text = String(given);
  const seen = /^[0-9a-f]*$/i.test(text) ? `it has ${text.length} digits` : 'it has other characters';
  return `must be a SHA-256, SHA-512 or SHA-1 in hexadecimal (64, 128 or 40 digits): ${seen}`;
}

/** @throws AppError `invalid_argument`: one of no known length proves nothing */
function algorithmOf(checksum: string): (typeof algorithms)[keyof typeof algorithms] {
  const found = algorithms[checksum.length as keyof typeof algorithms];
  if (found !== undefined) return found;
  throw new AppError('invalid_argument', `checksum ${describeWrongChecksum(checksum)}`);
}

interface FirmwareImage {
  readonly url: string;
  readonly checksum: string | undefined;
  readonly rules: OutboundRules;
  /** For the wait for a turn, the download and the use. */
  readonly signal: AbortSignal;
}

/**
 * Gives `use` a file of the conductor's with the image, whose checksum is the one given; gone once `use` has ended.
 * @throws AppError `invalid_argument` for an image with another checksum, `timeout`
 */
export async function withFirmwareImage<T>(image: FirmwareImage, use: (file: string) => Promise<T>): Promise<T> {
  try {
    return await inTurn(() => fetchAndUse(image, use), image.signal);
  } catch (error) {
    if (!image.signal.aborted) throw error;
    const { origin, pathname } = new URL(image.url);
    throw stoppedError(image.signal, `fetch ${origin}${pathname}, ${mostAtOnce} images at a time, and send it`);
  }
}

async function fetchAndUse<T>(
  { url, checksum, rules, signal }: FirmwareImage,
  use: (file: string) => Promise<T>,
): Promise<T> {
  // without a checksum, the file is as it comes
  const algorithm = checksum === undefined ? 'sha256' : algorithmOf(checksum);
  const folder = await mkdtemp(join(tmpdir(), prefix));
  const dispatcher = outboundAgent(rules);
  try {
    const to = join(folder, basename(new URL(url).pathname) || 'image');
    const digest = await downloadFile({ url, to, algorithm, maxBytes, dispatcher, signal });
    if (checksum !== undefined && digest !== checksum.toLowerCase()) {
      throw new AppError('invalid_argument', `the image at ${url} has the ${algorithm} ${digest}, not ${checksum}`);
    }
    return await use(to);
  } finally {
    await dispatcher.destroy();
    await rm(folder, { recursive: true });
  }
}

/** Removes what conductors that were killed have left; others' on the same host are younger, or another user's. */
export async function removeLeftImages(now: Date): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(prefix)) continue;
    const folder = join(tmpdir(), name);
    const found = await lstat(folder).catch(() => undefined); // another conductor may have removed it
    if (!found || found.uid !== process.getuid?.() || now.getTime() - found.mtimeMs < leftAfterMs) continue;
    await rm(folder, { recursive: true, force: true });
  }
}
