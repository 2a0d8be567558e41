import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listFiles, readArchive, shownBytes } from '#conductor/board/data/read-archive.ts';
import { run } from '#shared/process/run.ts';

test('files of an archive, with their names and ends', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-tar-'));
  try {
    const deep = `deep-${'x'.repeat(120)}`;
    await mkdir(join(directory, 'logs', deep), { recursive: true });
    await writeFile(join(directory, 'logs/journal'), 'one\ntwo\n');
    await writeFile(join(directory, 'logs/empty'), '');
    await writeFile(join(directory, 'logs', deep, 'long'), `${'a'.repeat(shownBytes)}end`);
    await run('tar', ['--sort=name', '-czf', join(directory, 'logs.tgz'), '-C', directory, 'logs']);
    const { stdout } = await run('base64', ['-w0', join(directory, 'logs.tgz')]);
    const files = await readArchive(
      new Response(Buffer.from(stdout, 'base64')).body as ReadableStream<Uint8Array<ArrayBuffer>>,
    );
    expect(files.map(({ name, bytes }) => [name, bytes])).toEqual([
      [`logs/${deep}/long`, shownBytes + 3],
      ['logs/empty', 0],
      ['logs/journal', 8],
    ]);
    expect(files[0]?.text.endsWith('aend')).toBe(true);
    expect(files[0]?.text).toHaveLength(shownBytes);
    expect(files[2]?.text).toBe('one\ntwo\n');
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('what is not an archive is said to be damaged', () => {
  expect(() => listFiles(new TextEncoder().encode('x'.repeat(1024)))).toThrow('the archive of the logs is damaged');
  expect(listFiles(new Uint8Array(1024))).toEqual([]);
});
