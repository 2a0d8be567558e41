import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { exitCodeOf } from '#conductor/cli/run-baton.ts';
import { createNodeTerminal, type NodeTerminal } from '#conductor/cli/testing/node-terminal.ts';
import { parseChunkIndex } from '#shared/chunks/chunk-index.ts';

const image = randomBytes(2 * 1024 * 1024 + 512);
let folder = '';
let terminal: NodeTerminal;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-image-'));
  terminal = createNodeTerminal();
});
afterEach(() => rm(folder, { recursive: true }));

async function add(content: Uint8Array, ...more: string[]): Promise<unknown> {
  const file = join(folder, 'debian.raw.img');
  await writeFile(file, content);
  return terminal.run('image', 'add', file, '--folder', folder, ...more).catch((error: unknown) => error);
}

test('an image makes the same index, packed or not, without a conductor', async () => {
  await add(image);
  expect(terminal.output).toMatch(
    /debian\.caibx: \d+ chunks of 2\.1 MB, \d+ of them new .*\nchecksum: sha256:[0-9a-f]{64}\n$/,
  );
  expect(terminal.calls).toEqual([]);
  const index = await readFile(join(folder, 'debian.caibx'));
  expect(parseChunkIndex(index).imageBytes).toBe(image.length);
  // two frames: what is behind the first counts
  const frames = Buffer.concat([zstdCompressSync(image.subarray(0, 1000)), zstdCompressSync(image.subarray(1000))]);
  for (const packed of [gzipSync(image), frames]) {
    terminal.output = '';
    await add(packed, '--name', 'packed', '-o', 'json');
    expect(JSON.parse(terminal.output)).toMatchObject({ size: image.length, new_chunks: 0, new_bytes: 0 });
    expect((await readFile(join(folder, 'packed.caibx'))).equals(index)).toBe(true);
  }
});

test.each<[string, Uint8Array, string[], RegExp]>([
  ['qcow2', Buffer.from('514649fb00000003', 'hex'), [], /is qcow2: convert it first/],
  ['cut short', zstdCompressSync(image).subarray(0, 100_000), [], /unpack .*debian\.raw\.img/],
  ['empty', Buffer.alloc(0), [], /the image is empty/],
  ['given a bad name', image, ['--name', '../x'], /--name: it must be letters/],
])('what is %s gets no index', async (_what, content, more, message) => {
  expect(await add(content, ...more)).toMatchObject({ message: expect.stringMatching(message) });
  expect((await readdir(folder)).filter((name) => name.endsWith('.caibx'))).toEqual([]);
});

test('a URL, and a file that is not there, are refused', async () => {
  const run = (file: string) => terminal.run('image', 'add', file, '--folder', folder).catch((error: unknown) => error);
  expect(await run('https://example.com/debian.raw')).toMatchObject({ code: 'not_supported' });
  expect(exitCodeOf(await run(join(folder, 'none')))).toBe(2);
});
