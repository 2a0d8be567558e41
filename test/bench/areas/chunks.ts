import { createReadStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { type StoredImage, writeStore } from '#shared/chunks/write-store.ts';
import { run } from '#shared/process/run.ts';
import { type Area, type BenchContext, type Figure, median, round } from '#test/bench/area.ts';
import { loadAverage } from '#test/bench/process-figures.ts';
import { imageBytes, makeImages } from '#test/bench/write-image/make-image.ts';
import { withFileServer } from '#test/bench/write-image/with-file-server.ts';
import { withSlowLoopback } from '#test/bench/write-image/with-slow-loopback.ts';
import { withLoopDevice } from '#test/support/loop-device.ts';

const rounds = 3;
const diskBytes = 2 * 1024 ** 3;
const sources = join(import.meta.dirname, '../write-image');
const origin = z.object({ kept: z.number(), copied: z.number(), fetched: z.number() });
const WriterResult = z.object({ ms: z.number(), peakKb: z.number(), origin: origin.optional() });
type WriterResult = z.infer<typeof WriterResult>;

/**
 * Images in chunks on a loop device: a first deploy against the plain zstd stream, and the same image again, over a
 * server's link of 1 Gbit/s and over loopback, where both are bound by this machine's processors; an image that was
 * built again; `casync extract` from the same store.
 */
export const chunksArea: Area = {
  name: 'chunks',
  measure: async (context) => {
    const { folder, say } = context;
    const images = await makeImages(folder);
    const store = join(folder, 'chunks');
    await rm(store, { recursive: true, force: true });
    await mkdir(store, { recursive: true });
    say('cutting the images');
    const main = await writeStore(createReadStream(images.raw.path), store, 'image');
    const rebuilt = await buildTwice(context, store);
    try {
      return await withLoopDevice(join(folder, 'disk'), diskBytes, async (device) => {
        const pathOf = (stored: StoredImage): string => `/chunks/${basename(stored.index)}`;
        const zstd = `/${basename(images.zstd.path)}`;
        const over = (base: string, inside: readonly string[] = []): Omit<Ways, 'casync'> => ({
          plain: () => writeTo(device, `${base}${zstd}`, images.zstd.sha256, inside),
          chunks: () => writeTo(device, `${base}${pathOf(main)}`, main.sha256, inside),
        });
        const slow = await withSlowLoopback('1gbit', (inside) =>
          withFileServer(folder, (base) => comparePaces(context, device, over(base, inside)), inside),
        );
        return withFileServer(folder, async (base) => {
          const pace = await comparePaces(context, device, {
            ...over(base),
            casync: () => extract(device, `${base}${pathOf(main)}`, `${base}/chunks/default.castr`),
          });
          await run('cmp', ['--bytes', String(imageBytes), images.raw.path, device], { timeoutMs: 120_000 });
          await erase(device);
          await writeTo(device, `${base}${pathOf(rebuilt.first)}`, rebuilt.first.sha256);
          const again = await writeTo(device, `${base}${pathOf(rebuilt.second)}`, rebuilt.second.sha256);
          const share = (100 * (again.origin?.fetched ?? 0)) / rebuilt.storedBytes;
          say(`load ${await loadAverage()}`);
          return {
            ...pace,
            first_deploy_1gbit: slow.first_deploy,
            same_image_1gbit: slow.same_image,
            rebuilt_image_fetched_percent: { value: round(share), unit: '% of the image as stored' },
          };
        });
      });
    } finally {
      await rm(store, { recursive: true, force: true });
    }
  },
};

interface Paces extends Record<string, Figure> {
  readonly first_deploy: Figure;
  readonly same_image: Figure;
}

interface Ways {
  readonly plain: () => Promise<WriterResult>;
  readonly chunks: () => Promise<WriterResult>;
  /** Milliseconds; `undefined` where there is no casync. */
  readonly casync?: () => Promise<number | undefined>;
}

async function comparePaces({ say }: BenchContext, device: string, ways: Ways): Promise<Paces> {
  const plain: number[] = [];
  const first: WriterResult[] = [];
  const same: WriterResult[] = [];
  const casync: number[] = [];
  for (let round_ = 1; round_ <= rounds; round_ += 1) {
    await erase(device);
    plain.push((await ways.plain()).ms);
    await erase(device);
    const extracted = await ways.casync?.();
    if (extracted !== undefined) casync.push(extracted);
    await erase(device);
    first.push(await ways.chunks());
    same.push(await ways.chunks());
    say(
      `${round_}/${rounds}: plain ${ms(plain)}, first ${ms(first.map((each) => each.ms))}, same ${ms(same.map((each) => each.ms))}, casync ${ms(casync)} ms`,
    );
  }
  const plainMs = median(plain);
  const firstMs = median(first.map((each) => each.ms));
  const sameMs = median(same.map((each) => each.ms));
  const fetched = Math.max(...same.map((each) => each.origin?.fetched ?? Infinity));
  const compared = (value: number, baseline: number, ratio: number): Figure => ({
    value: round(value / 1000, 2),
    unit: 's',
    baseline: round(baseline / 1000, 2),
    ratio: round(ratio, 2),
  });
  return {
    first_deploy: compared(firstMs, plainMs, plainMs / firstMs),
    // of the time: below 1 is faster
    same_image: compared(sameMs, plainMs, sameMs / plainMs),
    same_image_fetched_percent: { value: round((100 * fetched) / imageBytes, 2), unit: '% of the image' },
    ...(casync.length === 0 ? {} : { casync_extract: compared(firstMs, median(casync), median(casync) / firstMs) }),
    peak_rss_mb: { value: round(Math.max(...first.map((each) => each.peakKb)) / 1024), unit: 'MB' },
  };
}

function ms(values: readonly number[]): string {
  return String(Math.round(values.at(-1) ?? Number.NaN));
}

async function writeTo(
  device: string,
  url: string,
  sha256: string,
  inside: readonly string[] = [],
): Promise<WriterResult> {
  const node = [...inside, process.execPath, '--disable-warning=ExperimentalWarning'];
  const [program, ...args] = [...node, join(sources, 'writer.ts'), device, url, sha256];
  return WriterResult.parse(JSON.parse((await run(program, args, { timeoutMs: 600_000 })).stdout));
}

async function extract(device: string, index: string, store: string): Promise<number | undefined> {
  const hasCasync = await run('casync', ['--version']).then(
    () => true,
    () => false,
  );
  if (!hasCasync) return undefined;
  const began = performance.now();
  await run('casync', ['extract', '--seed-output=no', `--store=${store}`, index, device], { timeoutMs: 600_000 });
  await run('blockdev', ['--flushbufs', device]);
  return performance.now() - began;
}

/** Erases as automated cleaning leaves a disk. */
async function erase(device: string): Promise<void> {
  await run('blkdiscard', ['--force', device]);
}

interface Rebuilt {
  readonly first: StoredImage;
  readonly second: StoredImage;
  /** Bytes of the second, as stored. */
  readonly storedBytes: number;
}

/** A file system with this host's programs, and one with the same where twelve have grown, and all have other times. */
async function buildTwice({ folder, say }: BenchContext, store: string): Promise<Rebuilt> {
  const tree = join(folder, 'tree');
  const image = join(folder, 'tree.raw');
  await rm(tree, { recursive: true, force: true });
  await mkdir(tree);
  try {
    say('building a file system twice');
    await run('cp', ['-a', '/usr/bin', '/usr/lib/x86_64-linux-gnu', tree], { timeoutMs: 600_000 });
    const first = await cutFileSystem(tree, image, store, 'first');
    const grow = `find ${tree} -type f -size +200k | sort | head -12 | while read -r f; do head -c 4100 /dev/urandom >> "$f"; done`;
    await run('bash', ['-c', `${grow}; find ${tree} -exec touch -h -d 2026-01-01 {} +`], { timeoutMs: 600_000 });
    const second = await cutFileSystem(tree, image, store, 'second');
    const alone = join(store, 'alone');
    const { newBytes } = await writeStore(createReadStream(image), alone, 'second');
    await rm(alone, { recursive: true });
    return { first, second, storedBytes: newBytes };
  } finally {
    await rm(tree, { recursive: true, force: true });
    await rm(image, { force: true });
  }
}

async function cutFileSystem(tree: string, image: string, store: string, name: string): Promise<StoredImage> {
  await rm(image, { force: true });
  await run('mkfs.ext4', ['-q', '-d', tree, image, '2000M'], { timeoutMs: 600_000 });
  return writeStore(createReadStream(image), store, name);
}
