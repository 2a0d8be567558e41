import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeCertificate } from '#conductor/flows/plan/look-at-image.ts';
import { watchPeerCertificates } from '#conductor/http/watch-peer-certificates.ts';
import { createMetrics } from '#conductor/kernel/metrics/metrics.ts';
import { silentLog } from '#shared/log.ts';
import { askPeer } from '#shared/peers/ask-peer.ts';
import { forgetPeerCertificates } from '#shared/peers/peer-certificates.ts';
import type { PeerKind } from '#shared/peers/peer-limits.ts';
import { run } from '#shared/process/run.ts';

/** Real TLS: servers with certificates of 3 and of 400 days, and one that has expired. */

let folder: string;
const servers: Server[] = [];
const warned: string[] = [];
let metrics: ReturnType<typeof createMetrics>;
let watch: ReturnType<typeof watchPeerCertificates>;
let now: Date;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-peers-'));
  warned.length = 0;
  now = new Date();
  metrics = createMetrics();
  const log = { ...silentLog, warn: (...words: unknown[]) => void warned.push(String(words[1])) };
  forgetPeerCertificates();
  watch = watchPeerCertificates({ log, metrics, clock: { now: () => now, sleep: () => Promise.resolve() } });
});
afterEach(async () => {
  watch.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  await rm(folder, { recursive: true });
});

/** @returns the server's address, and what checks its certificate */
async function serve(days: number | 'expired'): Promise<{ readonly url: string; readonly agent: Agent }> {
  const at = (name: string): string => join(folder, name);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', at('key')];
  const subject = ['-subj', '/CN=127.0.0.1'];
  const name = 'subjectAltName=IP:127.0.0.1';
  if (days === 'expired') {
    // `openssl req` makes none that has ended already
    const config = [
      '[ca]\ndefault_ca=own',
      `[own]\ndatabase=${at('index')}\nserial=${at('serial')}\nnew_certs_dir=${folder}\ndefault_md=sha256\npolicy=any\nx509_extensions=more`,
      '[any]\ncommonName=supplied',
      `[more]\n${name}`,
    ];
    await writeFile(at('conf'), `${config.join('\n')}\n`);
    await writeFile(at('index'), '');
    await writeFile(at('serial'), '01\n');
    await run('openssl', ['req', '-new', ...key, '-out', at('csr'), ...subject]);
    const ends = ['-startdate', '20200101000000Z', '-enddate', '20200201000000Z'];
    const own = ['-batch', '-notext', '-selfsign', '-config', at('conf'), '-keyfile', at('key')];
    await run('openssl', ['ca', ...own, '-in', at('csr'), '-out', at('crt'), ...ends]);
  } else {
    await run('openssl', [
      'req',
      '-x509',
      '-days',
      String(days),
      ...key,
      '-out',
      at('crt'),
      ...subject,
      '-addext',
      name,
    ]);
  }
  const cert = await readFile(at('crt'), 'utf8');
  const server = createServer({ cert, key: await readFile(at('key'), 'utf8') }, (_, answer) => answer.end('{}'));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `https://127.0.0.1:${port}`, agent: new Agent({ connect: { ca: cert } }) };
}

const ask = (kind: PeerKind, url: string, dispatcher: Agent): Promise<unknown> =>
  askPeer(kind, `${url}/x`, { who: 'the peer', method: 'GET', dispatcher });

const measured = async (): Promise<Record<string, number>> =>
  Object.fromEntries((await metrics.peerTlsNotAfter.get()).values.map(({ labels, value }) => [labels['peer'], value]));

test('one that ends soon is logged, a hint, measured, and in the plan; one that does not is measured alone', async () => {
  const [soon, late] = [await serve(3), await serve(400)];
  await ask('bmc', soon.url, soon.agent);
  await ask('switch', late.url, late.agent);
  watch.look();
  watch.look();
  expect(warned).toEqual([expect.stringMatching(`^the certificate of the BMC ${soon.url} expires on .*, in 2 days`)]);
  expect(watch.trouble()).toBe(warned[0]);
  const found = await measured();
  expect(Math.round(((found['bmc'] ?? 0) * 1000 - now.getTime()) / 86_400_000)).toBe(3);
  expect(Math.round(((found['switch'] ?? 0) * 1000 - now.getTime()) / 86_400_000)).toBe(400);
  expect(describeCertificate(`${soon.url}/redfish/v1/`, now)).toMatch(
    /^The certificate of the BMC .* in 2 days: renew/,
  );
  expect(describeCertificate(late.url, now)).toBeUndefined();
  // a day later it is said once more
  now = new Date(now.getTime() + 86_400_000);
  watch.look();
  expect(warned).toHaveLength(2);
});

test('one that has expired is known by the refusal', async () => {
  const past = await serve('expired');
  await expect(ask('image', past.url, past.agent)).rejects.toThrow(/expired/);
  watch.look();
  expect(warned).toEqual([`the certificate of the image server ${past.url} has expired: renew it there`]);
  expect(await measured()).toEqual({ image: 0 });
});

test('one that nobody checks may end', async () => {
  const soon = await serve(1);
  await ask('bmc', soon.url, new Agent({ connect: { rejectUnauthorized: false } }));
  watch.look();
  expect(warned).toEqual([]);
  expect(watch.trouble()).toBeUndefined();
  expect(await measured()).toEqual({});
});
