import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listen, openTlsFiles, type TlsFiles } from '#conductor/http/listen.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { makeCertificate } from '#test/support/certificate.ts';

let directory: string;
let files: { readonly certFile: string; readonly keyFile: string };
let tls: TlsFiles;
let server: Awaited<ReturnType<typeof listen>>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-tls-'));
  files = await makeCertificate(directory, 'served');
  tls = await openTlsFiles(files, { log: silentLog, everyMs: 20 });
  server = await listen((asked) => new Response(new URL(asked.url).protocol), { host: '127.0.0.1', port: 0, tls });
});
afterAll(async () => {
  await server.close();
  tls.close();
  await rm(directory, { recursive: true, force: true });
});

async function ask(ca: string, options: { readonly maxVersion?: 'TLSv1.1' } = {}): Promise<string> {
  const dispatcher = new Agent({ connect: { ca, ...options } });
  try {
    return await (await request(server.url, { dispatcher })).body.text();
  } finally {
    await dispatcher.close();
  }
}

test('the API speaks HTTPS with its certificate', async () => {
  expect(server.url).toMatch(/^https:/);
  expect(await ask(await readFile(files.certFile, 'utf8'))).toBe('https:');
});

test('clients that know another certificate do not talk to it', async () => {
  const other = await makeCertificate(directory, 'other');
  await expect(ask(await readFile(other.certFile, 'utf8'))).rejects.toMatchObject({
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  });
});

test('TLS older than 1.2 is refused', async () => {
  const refusal = new Promise((resolve, reject) => {
    const socket = connect({
      host: '127.0.0.1',
      port: server.port,
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
      ciphers: 'DEFAULT@SECLEVEL=0',
      rejectUnauthorized: false,
    });
    socket.once('secureConnect', () => resolve(socket.getProtocol()));
    socket.once('error', reject);
  });
  await expect(refusal).rejects.toThrow(/protocol version|unsupported protocol/i);
});

test('a renewed certificate is used by the next connection, and one without its key is not', async () => {
  const renewed = await makeCertificate(directory, 'renewed');
  const [oldPem, newPem] = [await readFile(files.certFile, 'utf8'), await readFile(renewed.certFile, 'utf8')];
  await writeFile(files.certFile, newPem);
  expect(await ask(oldPem)).toBe('https:');
  await copyFile(renewed.keyFile, files.keyFile);
  await waitUntil('the renewed certificate', async () => (await ask(newPem).catch(() => '')) || undefined, {
    timeoutMs: 240_000,
    everyMs: 20,
  });
});

test('files that are not a pair are named at the start', async () => {
  const other = await makeCertificate(directory, 'stranger');
  const wrong = { certFile: files.certFile, keyFile: other.keyFile };
  await expect(openTlsFiles(wrong, { log: silentLog })).rejects.toThrow(
    /BATON_TLS_CERT_FILE: .* are not a matching pair in PEM/,
  );
  const missing = { certFile: join(directory, 'none'), keyFile: other.keyFile };
  await expect(openTlsFiles(missing, { log: silentLog })).rejects.toThrow(/BATON_TLS_CERT_FILE: read .*none/);
});

test('an upgrade of an address that is none is a bad request', async () => {
  const plain = await listen(() => new Response('hi'), { host: '127.0.0.1', port: 0 });
  const socket = connectTcp(plain.port, '127.0.0.1');
  const upgrade = 'Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  socket.end(`GET http://[ HTTP/1.1\r\n${upgrade}`);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  await plain.close();
});
