import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { createNeighbourGroups } from '#conductor/agents/find-neighbours.ts';
import { signTicket } from '#shared/wire/neighbours.ts';

/** Serves a folder, names neighbours as the conductor does, and says what it has sent: `image-server.ts ADDRESS FOLDER`. */
const [address = '', folder = ''] = process.argv.slice(2);

const Asked = z.object({
  image: z.string(),
  port: z.number(),
  certificate_sha256: z.string(),
  name: z.string(),
  address: z.string(),
});
const { privateKey } = generateKeyPairSync('ed25519');
const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString();
const groups = createNeighbourGroups(Date.now);
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
let sent = 0;

function answerNeighbour(body: unknown): string {
  const asked = Asked.parse(body);
  const group = sha256(asked.image);
  const neighbour = {
    id: sha256(asked.name).slice(0, 16),
    url: `https://${asked.address}:${asked.port}`,
    certificate_sha256: asked.certificate_sha256,
  };
  return JSON.stringify({
    ticket: signTicket({ ...neighbour, group, expires: Date.now() + 600_000 }, privateKey),
    public_key: publicKey,
    neighbours: groups.join(group, { ...neighbour, node: asked.name, place: '' }, 60_000),
    next_ms: 15_000,
  });
}

const server = createServer((request, response) => {
  const answer = async (): Promise<Buffer | string> => {
    if (request.url === '/neighbours') return answerNeighbour(await json(request));
    if (request.url === '/sent') {
      const before = sent;
      sent = 0;
      return JSON.stringify(before);
    }
    const file = await readFile(join(folder, (request.url ?? '').replaceAll('..', '')));
    sent += file.length;
    return file;
  };
  answer().then(
    (body) => response.writeHead(200, { 'content-length': Buffer.byteLength(body) }).end(body),
    () => response.writeHead(404, { 'content-length': 0 }).end(),
  );
});
server.listen(8080, address, () => process.stdout.write('ready\n'));
