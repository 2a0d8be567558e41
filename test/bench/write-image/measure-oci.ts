import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { systemClock } from '#shared/clock.ts';
import type { RegistryMeans } from '#shared/oci/ask-registry.ts';
import { parseOciReference } from '#shared/oci/reference.ts';
import { resolveImage } from '#shared/oci/resolve-image.ts';
import { type BenchContext, type Figure, median, round } from '#test/bench/area.ts';
import { imageBytes } from '#test/bench/write-image/make-image.ts';
import { startDockerRegistry } from '#test/support/registry/docker-registry.ts';
import { pushLayout, writeLayout } from '#test/support/registry/push-artifact.ts';

const rounds = 5;

interface Measured {
  /** Where the file is by HTTP. */
  readonly url: string;
  readonly path: string;
  readonly sha256: string;
  /** Writes a file to the disk; gives the milliseconds that it took. */
  readonly write: (url: string, sha256: string) => Promise<number>;
}

/**
 * Measures the same file from a registry (Debian's docker-registry, filled by skopeo), its tag resolved each time, against
 * the file from a web server. The goal is 1.05 times the web server's time: a ratio of 0.95.
 */
export async function measureOci(context: BenchContext, { url, path, sha256, write }: Measured): Promise<Figure> {
  await using registry = await startDockerRegistry(join(context.folder, 'registry'));
  const layout = join(context.folder, 'layout');
  await writeLayout(layout, [{ files: [{ content: await readFile(path), title: basename(path) }] }]);
  await pushLayout(layout, `${registry.host}/disks/bench:1`);
  const means: RegistryMeans = {
    clock: systemClock,
    signal: AbortSignal.timeout(3_600_000),
    checkUrl: () => undefined,
    plainHttp: new Set([registry.host]),
    loginFor: () => Promise.resolve(undefined),
    loginAdvice: '',
    archField: 'the architecture',
    patienceMs: 10_000,
  };
  const reference = parseOciReference(`oci://${registry.host}/disks/bench:1`, 'the image');
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let index = 0; index < rounds; index += 1) {
    theirs.push(await write(url, sha256));
    const started = performance.now();
    const image = await resolveImage(reference, undefined, means);
    const resolvedMs = performance.now() - started;
    ours.push(resolvedMs + (await write(image.url, image.digest.replace('sha256:', ''))));
    context.say(`oci ${index + 1}/${rounds}: ${round(ours.at(-1) ?? 0)} ms, HTTP ${round(theirs.at(-1) ?? 0)} ms`);
  }
  const speed = (ms: number): number => imageBytes / 1e6 / (ms / 1000);
  const [value, baseline] = [speed(median(ours)), speed(median(theirs))];
  return { value: round(value), unit: 'MB/s', baseline: round(baseline), ratio: round(value / baseline, 2) };
}
