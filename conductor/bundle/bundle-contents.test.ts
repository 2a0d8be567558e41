import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type BuildOptions, build } from 'esbuild';
import { expect, test } from 'vitest';
import { bundledPrograms, forBrowsers, forNode } from '#conductor/bundle/build-bundles.ts';
import { bundleOptions } from '#shared/bundle-options.ts';

/** One import of a file that has more in it than what is wanted can make a bundle ten times as large. */

async function bundle(entry: string, options: Omit<BuildOptions, 'write' | 'metafile'>) {
  const { outputFiles, metafile } = await build({
    ...bundleOptions,
    ...options,
    absWorkingDir: join(import.meta.dirname, '../..'),
    entryPoints: [entry],
  });
  const packages = Object.keys(metafile.inputs).map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
  return {
    packages: [...new Set(packages)].filter((name) => name !== undefined).sort(),
    gzipBytes: gzipSync(outputFiles[0]?.contents ?? '').length,
  };
}

test('the page has no package, and is small', async () => {
  const page = await bundle('conductor/board/board.ts', forBrowsers);
  expect(page.packages).toEqual([]);
  // half of what it may have
  expect(page.gzipBytes).toBeLessThan(50_000);
});

test('V8 holds the text of each program of the conductor in one byte a letter', async () => {
  const { outputFiles } = await build({
    ...bundleOptions,
    ...forNode,
    absWorkingDir: join(import.meta.dirname, '../..'),
    entryPoints: Object.values(bundledPrograms),
    outdir: 'build',
  });
  const texts = outputFiles.filter(({ path }) => path.endsWith('.js')).map(({ text }) => text);
  expect(texts).toHaveLength(Object.keys(bundledPrograms).length);
  // of ASCII and the letters that Latin-1 adds
  expect(texts.map((text) => /[\u0100-\u{10ffff}].{0,40}/u.exec(text)?.[0])).toEqual(texts.map(() => undefined));
});

test('the command line for other machines has what it speaks to conductors with, and nothing of theirs', async () => {
  const { packages } = await bundle('conductor/start/baton-cli.ts', { minify: true });
  expect(packages).toEqual(['undici', 'ws', 'yaml', 'zod']);
});
