import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { removeLeftImages, withFirmwareImage } from '#conductor/flows/driver-steps/fetch-firmware-image.ts';

let temporary: string;
beforeEach(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'baton-fetch-image-'));
  vi.stubEnv('TMPDIR', temporary);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(temporary, { recursive: true });
});

async function serve(answer: (response: ServerResponse) => void): Promise<{ readonly url: string; asked: number }> {
  const server = createServer((_request, response) => {
    served.asked += 1;
    answer(response);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const served = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/nic.bin`, asked: 0 };
  return served;
}

const rules = { setting: 'BATON_IMAGE_URL_ALLOW', allow: undefined, allowLoopback: true, connectsHere: true };

test('a server that never ends is given up when the time is over, and nothing stays', async () => {
  const { url } = await serve((response) => void response.write('a drop'));
  const image = { url, checksum: undefined, rules, signal: AbortSignal.timeout(500) };
  await expect(withFirmwareImage(image, () => Promise.resolve())).rejects.toMatchObject({ code: 'timeout' });
  expect(await readdir(temporary)).toEqual([]);
});

test('a checksum of a length that no kind has proves nothing, and nothing is fetched', async () => {
  const served = await serve((response) => void response.end('firmware'));
  const image = { url: served.url, checksum: 'a'.repeat(32), rules, signal: new AbortController().signal };
  const used = withFirmwareImage(image, () => Promise.resolve());
  await expect(used).rejects.toThrow('checksum must be a SHA-256, SHA-512 or SHA-1 in hexadecimal');
  await expect(used).rejects.toThrow('it has 32 digits');
  expect([served.asked, await readdir(temporary)]).toEqual([0, []]);
});

test('four at a time; who waits has the time limit, too', async () => {
  const served = await serve((response) => void response.end('firmware'));
  const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
  const signal = new AbortController().signal;
  const started = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const first = started.map(({ resolve }) =>
    withFirmwareImage({ url: served.url, checksum: undefined, rules, signal }, () => {
      resolve();
      return isOver;
    }),
  );
  await Promise.all(started.map(({ promise }) => promise));
  const late = { url: served.url, checksum: undefined, rules, signal: AbortSignal.timeout(100) };
  await expect(withFirmwareImage(late, () => Promise.resolve())).rejects.toMatchObject({ code: 'timeout' });
  expect(served.asked).toBe(4);
  const next = withFirmwareImage({ ...late, signal }, () => Promise.resolve('its turn'));
  end();
  expect(await next).toBe('its turn');
  await Promise.all(first);
});

test('what a killed conductor left is removed, what another one uses is not', async () => {
  for (const name of ['baton-firmware-old', 'baton-firmware-new', 'another']) {
    await mkdir(join(temporary, name));
    await writeFile(join(temporary, name, 'nic.bin'), 'firmware');
  }
  const now = new Date();
  const before = new Date(now.getTime() - 61 * 60_000);
  for (const name of ['baton-firmware-old', 'another']) await utimes(join(temporary, name), before, before);
  await removeLeftImages(now);
  expect((await readdir(temporary)).toSorted()).toEqual(['another', 'baton-firmware-new']);
});
