import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startZeroing } from '#agent/image/disk/zeroing.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { run } from '#shared/process/run.ts';

let folder = '';
const path = (name: string): string => join(folder, name);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-zeroing-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function installBlkdiscard(script: string): Promise<void> {
  await writeFile(path('blkdiscard'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

test('ranges are zeroed one after another, and none after one that failed', async () => {
  await installBlkdiscard(`echo "$@" >>${path('calls')}; [ "$4" != 4096 ] || { echo 'No space' >&2; exit 1; }`);
  const zeroing = startZeroing('/dev/sdx', undefined, path('blkdiscard'));
  await zeroing.zero(512, 1024);
  const failure = await zeroing.zero(4096, 512).catch(errorChain);
  expect(failure).toBe('zero 512 bytes at byte 4096 of /dev/sdx: No space');
  await expect(zeroing.zero(8192, 512)).rejects.toThrow('zero 512 bytes at byte 8192');
  await zeroing.end();
  expect(await readFile(path('calls'), 'utf8')).toBe(
    '--force --zeroout --offset 512 --length 1024 /dev/sdx\n--force --zeroout --offset 4096 --length 512 /dev/sdx\n',
  );
});

test('what the kernel is busy with is over at the end, though the write was stopped', async () => {
  await run('mkfifo', [path('begun'), path('finish')]);
  await installBlkdiscard(`echo >${path('begun')}; read -r _ <${path('finish')}`);
  const stop = new AbortController();
  const zeroing = startZeroing('/dev/sdx', stop.signal, path('blkdiscard'));
  const zeroed = zeroing.zero(0, 512).catch(errorChain);
  await readFile(path('begun'));
  stop.abort();
  let isOver = false;
  const end = zeroing.end().then(() => {
    isOver = true;
  });
  await run('true', []);
  expect(isOver).toBe(false);
  await writeFile(path('finish'), '\n');
  await end;
  expect(await zeroed).toMatch(/zero 512 bytes at byte 0 of \/dev\/sdx: .* was stopped/);
});
