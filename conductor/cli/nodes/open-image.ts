import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, open, rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { type ImageChecksum, parseImageChecksum } from '#conductor/model/image-checksum.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { ResolvedImage } from '#shared/oci/resolve-image.ts';
import { run, start } from '#shared/process/run.ts';

/** By a file's first bytes. Programs, because they see an end that is missing, which Node's zstd does not. */
const unpackers: readonly (readonly [hex: string, program: string])[] = [
  ['28b52ffd', 'zstd'],
  ['1f8b08', 'gzip'],
  ['fd377a585a00', 'xz'],
];
const qcow2 = '514649fb';
const headBytes = 104;
const pieceBytes = 1024 * 1024;
const convertMs = 6 * 3_600_000;

export interface OpenImage extends AsyncDisposable {
  /** The disk's content. */
  readonly content: AsyncIterable<Uint8Array>;
}

/** Place of an image in a registry, as `findImageToAdd` finds it. */
export type RegistryPlace = Pick<ResolvedImage, 'url' | 'digest' | 'authorization'>;

/**
 * Opens a raw image, one that is compressed, or qcow2, by what is in it; a URL is downloaded first.
 * @param given.checksum of the file as it stands, `sha256:HEX` or `sha512:HEX`
 * @param given.place of an image that `source` names in a registry
 * @param folder has room for what is downloaded and converted; nothing of it stays
 * @throws AppError `invalid_argument` when it can't be read or has another checksum, `unavailable` when it can't be
 * downloaded, `image_error`, `not_supported` for what it can't take
 */
export async function openImage(
  source: string,
  folder: string,
  { checksum, place }: { readonly checksum?: string | undefined; readonly place?: RegistryPlace | undefined },
): Promise<OpenImage> {
  const wanted = parseDigest(place?.digest ?? checksum);
  await mkdir(folder, { recursive: true });
  const scratch = await mkdtemp(join(folder, '.add-'));
  const dispose = (): Promise<void> => rm(scratch, { recursive: true, force: true });
  try {
    const url = place?.url ?? source;
    const file = /^https?:/i.test(url) ? await download(url, join(scratch, 'image'), place?.authorization) : source;
    const head = await readHead(file);
    if (wanted) await requireChecksum(place ? source : `--checksum: ${source}`, file, wanted);
    return { content: await openContent(source, file, head, scratch), [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function openContent(
  source: string,
  file: string,
  head: Buffer,
  scratch: string,
): Promise<AsyncIterable<Uint8Array>> {
  const begins = head.toString('hex');
  if (begins.startsWith(qcow2)) {
    requireAlone(source, head);
    const raw = join(scratch, 'raw');
    await convert(source, file, raw);
    return createReadStream(raw, { highWaterMark: pieceBytes });
  }
  const program = unpackers.find(([magic]) => begins.startsWith(magic))?.[1];
  return program === undefined ? createReadStream(file, { highWaterMark: pieceBytes }) : unpack(program, source, file);
}

/**
 * Refuses an image that refers to another file: that would be read with the rights of anyone who adds the image,
 * `/etc/shadow` too.
 */
function requireAlone(source: string, head: Buffer): void {
  const isNew = head.length >= headBytes && head.readUInt32BE(4) >= 3;
  const hasBackingFile = head.length >= 16 && head.readBigUInt64BE(8) !== 0n;
  const hasDataFile = isNew && (head.readBigUInt64BE(72) & 4n) !== 0n;
  if (!hasBackingFile && !hasDataFile) return;
  throw new AppError(
    'not_supported',
    `${source} is qcow2 that keeps its data in another file: make one that stands alone (qemu-img convert -O qcow2)`,
  );
}

async function convert(source: string, file: string, raw: string): Promise<void> {
  try {
    await run('qemu-img', ['convert', '-q', '-f', 'qcow2', '-O', 'raw', file, raw], { timeoutMs: convertMs });
  } catch (cause) {
    throw new AppError('image_error', `convert ${source} from qcow2 (qemu-img, of Debian's qemu-utils)`, { cause });
  }
}

/** Share of the free space; the rest is everybody's. */
const downloadShare = 0.9;
const silenceMs = 60_000;

async function download(url: string, file: string, authorization: string | undefined): Promise<string> {
  const { bavail, bsize } = await statfs(dirname(file));
  const most = Math.floor(bavail * bsize * downloadShare);
  const silent = new AbortController();
  const timer = setTimeout(() => silent.abort(new Error(`nothing came for ${silenceMs / 1000} s`)), silenceMs);
  try {
    // fetch leaves the header out where a redirect leads to another origin
    const headers = authorization === undefined ? {} : { authorization };
    const answer = await fetch(url, { headers, signal: silent.signal });
    if (!answer.ok || !answer.body) throw new AppError('unavailable', `it answered ${answer.status}`);
    if (/^https:/i.test(url) && !/^https:/i.test(answer.url))
      throw new AppError(
        'unavailable',
        `it leads from HTTPS to ${new URL(answer.url).origin}, which anybody can answer for`,
      );
    // as announced, which need not be true
    if (Number(answer.headers.get('content-length')) > most) throw tooLarge(most);
    const counted = countUpTo(most, () => timer.refresh());
    await pipeline(Readable.fromWeb(answer.body), counted, createWriteStream(file));
    return file;
  } catch (cause) {
    throw new AppError('unavailable', `download ${url}: ${errorChain(cause)}`, { cause });
  } finally {
    clearTimeout(timer);
  }
}

/** Lets through no more than so many bytes. @throws AppError `image_error` from the stream, for more than there is room for. */
export function countUpTo(most: number, onPart: () => void): Transform {
  let bytes = 0;
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      onPart();
      bytes += chunk.length;
      if (bytes <= most) done(null, chunk);
      else done(tooLarge(most));
    },
  });
}

function tooLarge(most: number): AppError {
  return new AppError('image_error', `it is larger than the ${most} bytes that may be taken of the disk's free space`);
}

type Digest = Exclude<ImageChecksum, { readonly url: string }>;

function parseDigest(given: string | undefined): Digest | undefined {
  if (given === undefined) return undefined;
  const checksum = parseImageChecksum(given);
  if (checksum && !('url' in checksum)) return checksum;
  throw usageError(`--checksum: it must be sha256:HEX or sha512:HEX, not "${given}"`);
}

/** @param about the image, for messages */
async function requireChecksum(about: string, file: string, { algorithm, hex }: Digest): Promise<void> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(file, { highWaterMark: pieceBytes }), hash);
  const is = hash.digest('hex');
  if (is === hex) return;
  throw new AppError('invalid_argument', `${about} has ${algorithm}:${is}, not ${algorithm}:${hex}`);
}

async function readHead(file: string): Promise<Buffer> {
  try {
    await using handle = await open(file);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer.subarray(0, bytesRead);
  } catch (cause) {
    throw usageError(`read ${file}`, { cause });
  }
}

async function* unpack(program: string, source: string, file: string): AsyncGenerator<Uint8Array> {
  const running = start(program, ['-dc', '--', file]);
  const errors = text(running.stderr);
  let isFirst = true;
  try {
    for await (const piece of running.stdout as AsyncIterable<Buffer>) {
      if (isFirst && piece.toString('hex', 0, 4) === qcow2) {
        throw new AppError('not_supported', `${source} is compressed qcow2: unpack it first (${program} -d)`);
      }
      isFirst = false;
      yield piece;
    }
    const code = await running.exited;
    if (code === 0) return;
    const complaint = (await errors).trim() || `${program} exited with ${code}`;
    throw new AppError('image_error', `unpack ${source}: ${complaint}`);
  } finally {
    running.kill();
  }
}
