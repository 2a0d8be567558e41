import { mkdir, mkdtemp, open, readdir, rm, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAdaptorServer } from '@hono/node-server';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type DhcpConfig, dhcpEnvironment, readDhcpConfig } from '#conductor/boot/dhcp/dhcp-settings.ts';
import { renderDnsmasqConfig } from '#conductor/boot/dhcp/dnsmasq-config.ts';
import type { BootAnswer } from '#conductor/boot/ipxe-script.ts';
import { type BootRoutesOptions, bootRoutes } from '#conductor/http/machines/boot.routes.ts';
import { silentLog } from '#shared/log.ts';

const publicUrl = 'http://192.0.2.1:6385';
const known: Record<string, BootAnswer> = {
  '52:54:00:00:00:01': { kind: 'ramdisk', nodeName: 'n1', kernelParams: '%default% b=2' },
  '52:54:00:00:00:02': { kind: 'local disk', bootMode: 'uefi', nodeName: 'n2' },
  '52:54:00:00:00:03': { kind: 'local disk', bootMode: 'bios' },
};
const content = Buffer.from('0123456789');
const modified = new Date('2026-01-02T03:04:05.678Z');

let folder: string;
let images: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-boot-'));
  images = join(folder, 'images');
  await mkdir(join(images, 'sub'), { recursive: true });
  await mkdir(join(folder, 'ramdisk'));
  for (const name of ['vmlinuz', 'initrd.img', 'snponly.efi', 'undionly.kpxe', 'ipxe-arm64.efi']) {
    await writeFile(join(folder, 'ramdisk', name), name);
  }
  await writeFile(join(folder, 'secret'), 'secret');
  await writeFile(join(images, '.hidden'), 'hidden');
  await writeFile(join(images, 'empty'), '');
  await writeFile(join(images, 'sub', 'a b%2f.raw'), content);
  await writeFile(join(images, 'disk.raw'), content);
  await utimes(join(images, 'disk.raw'), modified, modified);
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const app = (overrides: Partial<BootRoutesOptions> = {}) =>
  bootRoutes({
    answer: async (mac) => known[mac] ?? { kind: 'unknown' },
    secrets: async ({ mac }) => (mac === '52:54:00:00:00:01' ? ['ipa-agent-token=t'] : undefined),
    mediumParams: async () => undefined,
    httpBoot: () => Promise.resolve({ kind: 'iPXE' }),
    ramdiskDirectory: join(folder, 'ramdisk'),
    ipxeDirectory: join(folder, 'ramdisk'),
    imagesDirectory: images,
    publicUrl,
    kernelParams: 'a=1',
    discovery: false,
    log: silentLog,
    ...overrides,
  });
const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  app().request(path, { headers, method });

/** Layout as `npm run image` makes it, whose agent reads secrets. */
const layout = { size: 1, parameters: 1, secrets: 1, files: [] };

test('a token is fetched once the ramdisk is one that reads it, in an initrd before the ramdisk', async () => {
  const scriptOf = async (fetchesToken: boolean) => {
    const answer = async () => ({ kind: 'ramdisk', fetchesToken }) as const;
    return (await app({ answer }).request('/boot/node.ipxe?mac=52-54-00-00-00-01')).text();
  };
  expect(await scriptOf(true)).not.toContain('secrets');
  await writeFile(join(folder, 'ramdisk', 'boot-medium.json'), JSON.stringify(layout));
  expect(await scriptOf(false)).not.toContain('secrets');
  const script = await scriptOf(true);
  expect(script).toContain(' initrd=secrets.img initrd=initrd.img ');
  const [, first, url] =
    /^(initrd) --name secrets\.img http:\/\/192\.0\.2\.1:6385(\S+) \|\| goto failed\n/m.exec(script) ?? [];
  expect([first, script.indexOf('secrets.img http') < script.indexOf('initrd.img http')]).toEqual(['initrd', true]);
  expect(script).not.toContain('token');
  const answer = await get(url ?? '');
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(await answer.text()).toContain('ipa-agent-token=t\n');
  for (const other of ['?mac=52-54-00-00-00-02', '?mac=x', '']) {
    expect((await get(`/boot/secrets.img${other}`)).status).toBe(404);
  }
});

test.each([
  [
    'of a ramdisk in whose place another was put',
    JSON.stringify({ ...layout, files: [{ name: 'vmlinuz', offset: 0, bytes: 1 }] }),
  ],
  ['that is half written', '{"size": 1,'],
])('a boot-medium.json %s brings no token', async (_, text) => {
  await writeFile(join(folder, 'ramdisk', 'boot-medium.json'), text);
  const answer = await app({ answer: async () => ({ kind: 'ramdisk', fetchesToken: true }) as const }).request(
    '/boot/node.ipxe?mac=52-54-00-00-00-01',
  );
  expect([answer.status, (await answer.text()).includes('secrets')]).toEqual([200, false]);
});

describe('boot scripts', () => {
  const script = async (mac: string, overrides = {}) =>
    (await app(overrides).request(`/boot/node.ipxe?mac=${mac}&platform=efi`)).text();

  test('boots the ramdisk with the parameters of configuration and node', async () => {
    expect(await script('52-54-00-00-00-01')).toContain(' initrd=initrd.img a=1 b=2 || goto failed');
    expect(await script('52:54:00:00:00:01')).toContain('BOOTIF=52:54:00:00:00:01');
  });

  test('boots from disk as the boot mode needs it', async () => {
    expect(await script('52:54:00:00:00:02')).toBe('#!ipxe\necho Baton: n2 boots from its disk\nexit 1\n');
    expect(await script('52:54:00:00:00:03')).toContain('sanboot --no-describe --drive 0x80');
  });

  test('an unknown machine boots from disk, or the ramdisk where discovery is on', async () => {
    const mac = '52:54:00:ff:ff:ff';
    expect(await script(mac)).toContain(`echo Baton: no node has a port with address ${mac}, and discovery is off`);
    expect(await script(mac)).not.toContain('vmlinuz');
    const discovering = await script(mac, { discovery: true });
    expect(discovering).toContain('/boot/vmlinuz');
    expect(discovering).toContain(`ipa-inspection-callback-url=${publicUrl}/v1/continue_inspection`);
  });

  test.each(['', '?mac=', '?mac=52:54', '?mac=%0a'])('refuses /boot/node.ipxe%s', async (query) => {
    const response = await get(`/boot/node.ipxe${query}`);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('mac must be a MAC address such as 52-54-00-12-34-56');
  });

  test('is text that nothing on the way may keep', async () => {
    const response = await get('/boot/boot.ipxe');
    expect(response.headers.get('content-type')).toContain('text/plain');
    expect(response.headers.get('cache-control')).toBe('no-store');
    const size = String((await response.text()).length);
    expect((await get('/boot/boot.ipxe', {}, 'HEAD')).headers.get('content-length')).toBe(size);
  });

  test('refuses settings that can’t stand in a script at once', () => {
    expect(() => app({ publicUrl: 'http://a b' })).toThrow('publicUrl');
    expect(() => app({ kernelParams: 'a || shell' })).toThrow('BATON_KERNEL_PARAMS');
  });

  test('every URL that firmware and scripts are sent to is served', async () => {
    const settings = z.object({ ...dhcpEnvironment, BATON_DATA_DIR: z.string() }).parse({
      BATON_DHCP: 'server',
      BATON_DHCP_RANGES: '10.0.0.1-10.0.0.2',
      BATON_DATA_DIR: folder,
    });
    const dhcp = readDhcpConfig(settings, publicUrl) as DhcpConfig;
    const dnsmasq = renderDnsmasqConfig(dhcp, { name: 'eth0', subnet: '10.0.0.0', ipv6Address: undefined });
    const texts = [dnsmasq, await (await get('/boot/boot.ipxe')).text(), await script('52:54:00:00:00:01')];
    const urls = texts.flatMap((text) => text.match(/http:\S+/g) ?? []).filter((url) => url !== publicUrl);
    expect(urls.length).toBeGreaterThan(4);
    for (const url of urls) {
      const path = url.replace(publicUrl, '').replace('${netX/mac:hexhyp}', '52-54-00-00-00-01');
      expect([path, (await get(path)).status]).toEqual([path, 200]);
    }
    for (const [, file] of dnsmasq.matchAll(/^dhcp-boot=.*,([^/\n]+)$/gm)) {
      expect(await readdir(join(folder, 'ramdisk'))).toContain(file);
    }
  });
});

describe('files', () => {
  test('sends a file whole, with what a client needs to go on later', async () => {
    const response = await get('/images/disk.raw');
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('0123456789');
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-length': '10',
      'accept-ranges': 'bytes',
      'content-type': 'application/octet-stream',
      etag: expect.stringMatching(/^"[0-9a-z-]+"$/),
      'last-modified': 'Fri, 02 Jan 2026 03:04:05 GMT',
    });
    expect(await (await get('/boot/vmlinuz')).text()).toBe('vmlinuz');
    expect(await (await get('/images/empty')).text()).toBe('');
    expect(await (await get('/images/sub/a%20b%252f.raw')).text()).toBe('0123456789');
  });

  test.each([
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=8-', '89', 'bytes 8-9/10'],
    ['bytes=-1', '9', 'bytes 9-9/10'],
  ])('sends %s', async (range, text, contentRange) => {
    const response = await get('/images/disk.raw', { range });
    expect(response.status).toBe(206);
    expect(await response.text()).toBe(text);
    expect(response.headers.get('content-range')).toBe(contentRange);
    expect(response.headers.get('content-length')).toBe(String(text.length));
  });

  test('says that a range lies outside', async () => {
    const response = await get('/images/disk.raw', { range: 'bytes=10-' });
    expect([response.status, response.headers.get('content-range')]).toEqual([416, 'bytes */10']);
    expect((await get('/images/empty', { range: 'bytes=0-' })).status).toBe(416);
  });

  test('HEAD answers the size alone', async () => {
    const response = await get('/images/disk.raw', { range: 'bytes=0-3' }, 'HEAD');
    expect([response.status, response.headers.get('content-length')]).toEqual([200, '10']);
    expect(await response.text()).toBe('');
  });

  test('If-Range: a part only of the very same file', async () => {
    const whole = await get('/images/disk.raw');
    const status = async (ifRange: string): Promise<number> =>
      (await get('/images/disk.raw', { range: 'bytes=0-3', 'if-range': ifRange })).status;
    const etag = whole.headers.get('etag') ?? '';
    expect(await status(etag)).toBe(206);
    expect(await status(whole.headers.get('last-modified') ?? '')).toBe(206);
    expect(await status(`W/${etag}`)).toBe(200);
    expect(await status('"other"')).toBe(200);
    await writeFile(join(images, 'disk.raw'), '9876543210');
    await utimes(join(images, 'disk.raw'), modified, new Date(modified.getTime() + 1));
    expect(await status(etag)).toBe(200);
  });

  test('304 for what the client has', async () => {
    const whole = await get('/images/disk.raw');
    const etag = whole.headers.get('etag') ?? '';
    const status = async (headers: Record<string, string>) => (await get('/images/disk.raw', headers)).status;
    expect(await status({ 'if-none-match': `"x", W/${etag}` })).toBe(304);
    expect(await status({ 'if-none-match': '"x"' })).toBe(200);
    expect(await status({ 'if-modified-since': 'Fri, 02 Jan 2026 03:04:05 GMT' })).toBe(304);
    expect(await status({ 'if-modified-since': 'Fri, 02 Jan 2026 03:04:04 GMT' })).toBe(200);
    expect(await status({ 'if-modified-since': 'nonsense' })).toBe(200);
  });

  test.each([
    '/images/absent',
    '/images/',
    '/images/sub',
    '/images/sub/',
    '/images/.hidden',
    '/images/disk.raw/x',
    '/images/../secret',
    '/images/..%2fsecret',
    '/images/%2e%2e/secret',
    '/images/%2e%2e%2fsecret',
    '/images/sub/..%2f..%2fsecret',
    '/images/..%5csecret',
    '/images//secret',
    '/images/%2fetc/passwd',
    '/images/disk.raw%00',
    '/images/%ff',
    '/boot/',
    '/boot/other',
    '/boot/..%2fsecret',
  ])('does not find %s', async (path) => {
    const response = await get(path);
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain('secret\n');
  });

  test('does not find a name longer than names can be', async () => {
    expect((await get(`/images/${'a'.repeat(5000)}`)).status).toBe(404);
  });

  test('follows a link that the operator made', async () => {
    await symlink(join(folder, 'secret'), join(images, 'linked'));
    expect(await (await get('/images/linked')).text()).toBe('secret');
  });
});

describe('over a real connection', () => {
  const size = 64 * 1024 * 1024;
  let server: Server;
  let port: number;

  beforeEach(async () => {
    const file = await open(join(images, 'big.raw'), 'w');
    await file.truncate(size);
    await file.close();
    server = createAdaptorServer({ fetch: app().fetch }) as Server;
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    port = (server.address() as AddressInfo).port;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });

  const openFiles = async (): Promise<number> => (await readdir('/proc/self/fd')).length;

  test('reads no faster than the client takes, and lets go of the file when the client leaves', async () => {
    const before = await openFiles();
    const rssBefore = process.memoryUsage().rss;
    const clients = await Promise.all(
      Array.from(
        { length: 8 },
        () =>
          new Promise<{ destroy: () => void }>((resolve, reject) => {
            const request = httpRequest({ port, host: '127.0.0.1', path: '/images/big.raw' }, (response) => {
              response.pause();
              resolve({ destroy: () => response.destroy() });
            });
            request.on('error', reject).end();
          }),
      ),
    );
    expect(await openFiles()).toBeGreaterThan(before);
    expect(process.memoryUsage().rss - rssBefore).toBeLessThan(4 * size);
    for (const client of clients) client.destroy();
    await expect.poll(openFiles).toBeLessThanOrEqual(before);
  });

  test('breaks the connection when the file becomes shorter, rather than let the client wait', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/images/big.raw`);
    await truncate(join(images, 'big.raw'), 1000);
    await expect(response.arrayBuffer()).rejects.toThrow('terminated');
  });

  test('sends every byte, and closes its files', async () => {
    const before = await openFiles();
    const response = await fetch(`http://127.0.0.1:${port}/images/big.raw`);
    expect((await response.arrayBuffer()).byteLength).toBe(size);
    const statuses = await Promise.all(
      [{ method: 'HEAD' }, { headers: { range: 'bytes=99999999-' } }, { headers: { 'if-none-match': '*' } }].map(
        async (init) => (await fetch(`http://127.0.0.1:${port}/images/big.raw`, init)).status,
      ),
    );
    expect(statuses).toEqual([200, 416, 304]);
    server.closeIdleConnections();
    await expect.poll(openFiles).toBeLessThanOrEqual(before + 4);
  });
});
