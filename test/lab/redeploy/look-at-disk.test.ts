import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lookAtDisk } from '#test/lab/redeploy/look-at-disk.ts';

const mib = 1024 * 1024;
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-look-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('words are found wherever they are, also where two reads meet', async () => {
  const disk = Buffer.alloc(9 * mib + 512);
  disk.write('at the edge', 4 * mib - 5);
  disk.write('the end', disk.length - 7);
  const file = join(folder, 'disk');
  await writeFile(file, disk);
  expect(await lookAtDisk(file, ['at the edge', 'nowhere', 'the end'])).toEqual({
    sha256: createHash('sha256').update(disk).digest('hex'),
    found: ['at the edge', 'the end'],
    isZero: false,
  });
});

test('a disk of zeros', async () => {
  const file = join(folder, 'zeros');
  await writeFile(file, Buffer.alloc(5 * mib));
  expect(await lookAtDisk(file, ['x'])).toMatchObject({ found: [], isZero: true });
  expect(await lookAtDisk(file, [])).toMatchObject({ found: [], isZero: true });
});
