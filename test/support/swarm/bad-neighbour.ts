import { createHash, X509Certificate } from 'node:crypto';
import { Hono } from 'hono';
import { startServer } from '#agent/serve/server.ts';
import { createServerCertificate } from '#agent/tls.ts';
import { askPeer } from '#shared/peers/ask-peer.ts';

/** A machine that says it has everything, and `lies` or `stalls`: `bad-neighbour.ts ADDRESS BASE SHA256 NAME HOW`. */
const [address = '', base = '', image = '', name = '', how = ''] = process.argv.slice(2);

const certificate = createServerCertificate({ address, hostName: name, curve: 'p384' });
const app = new Hono();
app.get('/', (c) => c.body(null, 204, { 'x-baton-done': '1000000' }));
app.get('/:id', () =>
  how === 'lies' ? new Response(Buffer.from('28b52ffd2000010000', 'hex')) : new Promise<Response>(() => undefined),
);
const server = await startServer(
  app,
  { host: address, port: 0 },
  { ...certificate, minVersion: 'TLSv1.2', ciphers: undefined, curve: 'p384' },
);
const shown = new X509Certificate(certificate.certificatePem).raw;
await askPeer('conductor', `${base}/neighbours`, {
  who: 'the conductor',
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    image,
    port: server.port,
    certificate_sha256: createHash('sha256').update(shown).digest('hex'),
    name,
    address,
  }),
});
process.stdout.write('ready\n');
