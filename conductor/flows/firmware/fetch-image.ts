import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import { downloadFile } from '#shared/peers/download-file.ts';
import { type OutboundRules, outboundAgent } from '#shared/peers/outbound-url.ts';

/** The largest firmware bundles have about 1 GiB. */
const maxBytes = 4 * 1024 ** 3;

const algorithms = { 40: 'sha1', 64: 'sha256', 128: 'sha512' } as const;

/** By its length, as Ironic tells them. */
function algorithmOf(checksum: string): (typeof algorithms)[keyof typeof algorithms] {
  return algorithms[checksum.length as keyof typeof algorithms] ?? 'sha256';
}

/**
 * A file of the conductor's with the image, whose checksum is the one given; gone once `use` has ended.
 * @throws AppError `invalid_argument` for an image with another checksum
 */
export async function withFirmwareImage<T>(
  image: {
    readonly url: string;
    readonly checksum: string | undefined;
    readonly rules: OutboundRules;
    readonly signal: AbortSignal;
  },
  use: (file: string) => Promise<T>,
): Promise<T> {
  const { url, checksum, rules, signal } = image;
  const folder = await mkdtemp(join(tmpdir(), 'baton-firmware-'));
  const dispatcher = outboundAgent(rules);
  try {
    const to = join(folder, basename(new URL(url).pathname) || 'image');
    const algorithm = algorithmOf(checksum ?? '');
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
