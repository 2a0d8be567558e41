import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { run } from '#shared/process/run.ts';
import { type Area, type BenchContext, type Figure, median, round } from '#test/bench/area.ts';
import { type BenchImages, imageBytes, makeImages } from '#test/bench/write-image/make-image.ts';
import { measureOci } from '#test/bench/write-image/measure-oci.ts';
import { withFileServer } from '#test/bench/write-image/with-file-server.ts';
import { withLoopDevice } from '#test/support/loop-device.ts';

const rounds = 5;
const diskBytes = 2 * 1024 ** 3;
const sources = join(import.meta.dirname, '../write-image');

const WriterResult = z.object({ ms: z.number(), cpuMs: z.number(), peakKb: z.number(), imageBytes: z.number() });

/**
 * The image writer against the shell pipeline that does the same without a checksum: MB of image per second, the
 * median of alternating rounds on one loop device, all bytes on stable storage at the end. `oci` is the compressed image from
 * a registry against the same file from a web server.
 */
export const writeImageArea: Area = {
  name: 'write_image',
  measure: async (context) => {
    context.say('making the images (once)');
    const images = await makeImages(context.folder);
    return withFileServer(dirname(images.raw.path), (base) =>
      withLoopDevice(join(context.folder, 'disk'), diskBytes, (device) => measure(context, images, base, device)),
    );
  },
};

async function measure(
  context: BenchContext,
  images: BenchImages,
  base: string,
  device: string,
): Promise<Readonly<Record<string, Figure>>> {
  const raw = { url: `${base}/${basename(images.raw.path)}`, sha256: images.raw.sha256 };
  const zstd = { url: `${base}/${basename(images.zstd.path)}`, sha256: images.zstd.sha256 };
  // dd's own reads would come in pieces of the pipe's size; fullblock is the stronger baseline
  const dd = `dd of=${device} bs=1M iflag=fullblock oflag=direct conv=fsync,notrunc status=none`;
  const rawFigures = await compare(context, 'raw', device, raw, `curl -sf ${raw.url} | ${dd}`);
  const zstdFigures = await compare(context, 'zstd_holes', device, zstd, `curl -sf ${zstd.url} | zstd -dc | ${dd}`);
  const qcow2Figures = await measureQcow2(context, images, base, device);
  const oci = await measureOci(context, {
    ...zstd,
    path: images.zstd.path,
    write: async (url, sha256) => (await runWriter(device, { url, sha256 })).ms,
  });
  await run('cmp', ['--bytes', String(imageBytes), images.raw.path, device], { timeoutMs: 120_000 });
  const peakMb = Math.max(rawFigures.peakMb, zstdFigures.peakMb, qcow2Figures?.peakMb ?? 0);
  return {
    raw: rawFigures.speed,
    raw_cpu_s_gib: rawFigures.cpu,
    zstd_holes: zstdFigures.speed,
    zstd_holes_cpu_s_gib: zstdFigures.cpu,
    ...(qcow2Figures === undefined ? {} : { qcow2: qcow2Figures.speed, qcow2_cpu_s_gib: qcow2Figures.cpu }),
    oci,
    peak_rss_mb: { value: round(peakMb), unit: 'MB' },
  };
}

/** Against what stages it, in memory as Ironic's agent does, and converts it. */
async function measureQcow2(
  context: BenchContext,
  { qcow2 }: BenchImages,
  base: string,
  device: string,
): Promise<Awaited<ReturnType<typeof compare>> | undefined> {
  if (qcow2 === undefined) {
    context.say('qcow2 left out: no qemu-img here');
    return undefined;
  }
  const image = { url: `${base}/${basename(qcow2.path)}`, sha256: qcow2.sha256 };
  const staged = `/dev/shm/baton-bench-${process.pid}.qcow2`;
  const convert = `qemu-img convert -n -f qcow2 -O raw -t none -W ${staged} ${device}`;
  const shell = `trap 'rm -f ${staged}' EXIT; curl -sf ${image.url} -o ${staged} && ${convert} && blockdev --flushbufs ${device}`;
  return compare(context, 'qcow2', device, image, shell);
}

async function compare(
  context: BenchContext,
  name: string,
  device: string,
  image: { readonly url: string; readonly sha256: string },
  shellPipeline: string,
): Promise<{ readonly speed: Figure; readonly cpu: Figure; readonly peakMb: number }> {
  const ours: number[] = [];
  const theirs: number[] = [];
  const cpu = { ours: [] as number[], theirs: [] as number[] };
  let peakMb = 0;
  for (let index = 0; index < rounds; index += 1) {
    const timed = `TIMEFORMAT='%U %S'; time { ${shellPipeline}; }`;
    const shell = await run('bash', ['-o', 'pipefail', '-c', timed], { timeoutMs: 600_000 });
    theirs.push(megabytesPerSecond(shell.durationMs));
    const [user = '', system = ''] = shell.stderr.trim().split(/\s+/).slice(-2);
    cpu.theirs.push(secondsPerGib(Number(user) + Number(system)));
    const result = await runWriter(device, image);
    ours.push(megabytesPerSecond(result.ms));
    cpu.ours.push(secondsPerGib(result.cpuMs / 1000));
    peakMb = Math.max(peakMb, result.peakKb / 1024);
    context.say(
      `${name} ${index + 1}/${rounds}: ${round(ours.at(-1) ?? 0)} MB/s, shell ${round(theirs.at(-1) ?? 0)} MB/s`,
    );
  }
  const value = median(ours);
  const baseline = median(theirs);
  return {
    cpu: cpuFigure(cpu),
    speed: { value: round(value), unit: 'MB/s', baseline: round(baseline), ratio: round(value / baseline, 2) },
    peakMb,
  };
}

async function runWriter(
  device: string,
  { url, sha256 }: { readonly url: string; readonly sha256: string },
): Promise<z.infer<typeof WriterResult>> {
  const args = ['--disable-warning=ExperimentalWarning', join(sources, 'writer.ts'), device, url, sha256];
  const { stdout } = await run(process.execPath, args, { timeoutMs: 600_000 });
  return WriterResult.parse(JSON.parse(stdout));
}

function cpuFigure({ ours, theirs }: { readonly ours: readonly number[]; readonly theirs: readonly number[] }): Figure {
  const [value, baseline] = [median(ours), median(theirs)];
  return { value: round(value, 2), unit: 's/GiB', baseline: round(baseline, 2), ratio: round(baseline / value, 2) };
}

function secondsPerGib(seconds: number): number {
  return (seconds * 1024 ** 3) / imageBytes;
}

function megabytesPerSecond(ms: number): number {
  return imageBytes / 1e6 / (ms / 1000);
}
