import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nodesPath } from '#conductor/cluster/kubernetes/client/objects.ts';
import { openCluster } from '#conductor/cluster/kubernetes/client/open-cluster.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { makeCertificate } from '#test/support/certificate.ts';

let directory: string;
let small: SmallCluster;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-client-'));
  for (const name of ['server', 'first', 'second']) await makeCertificate(directory, name);
  const [key, cert] = await Promise.all(['server.key', 'server.crt'].map((name) => readFile(at(name), 'utf8')));
  small = await startSmallCluster({ tls: { key: key ?? '', cert: cert ?? '' }, clientCertificates: true });
});
afterAll(async () => {
  await small.close();
  await rm(directory, { recursive: true });
});

const namesIn = (list: unknown): readonly string[] =>
  (list as { items: readonly { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);

const at = (name: string): string => join(directory, name);

async function kubeconfig(caFile: string): Promise<string> {
  const user = { 'client-certificate': at('client.crt'), 'client-key': at('client.key') };
  const text = small.simulator.kubeconfig(caFile).replace('"user":{}', `"user":${JSON.stringify(user)}`);
  await writeFile(at('kubeconfig'), text);
  return at('kubeconfig');
}

async function renewClient(name: string): Promise<void> {
  for (const kind of ['crt', 'key']) await cp(at(`${name}.${kind}`), at(`client.${kind}`));
}

test('a client certificate that was replaced in place is taken up', async () => {
  await renewClient('first');
  const cluster = await openCluster(await kubeconfig(at('server.crt')));
  const first = await cluster.request('GET', nodesPath);
  await renewClient('second');
  small.simulator.access.expireCertificates();
  const again = await cluster.request('GET', nodesPath);
  // its nodes report meanwhile, which changes them
  expect(namesIn(again.body)).toEqual(namesIn(first.body));
  expect(namesIn(first.body)).not.toEqual([]);
  await cluster.close();
});

test('a server that the authority has not signed is refused at once, until the authority is the right one', async () => {
  await renewClient('second');
  const cluster = await openCluster(await kubeconfig(at('first.crt')));
  await expect(cluster.request('GET', nodesPath)).rejects.toMatchObject({
    code: 'forbidden',
    retryable: false,
    message: expect.stringContaining("doesn't fit the certificate-authority") as unknown,
  });
  await kubeconfig(at('server.crt'));
  await cluster.request('GET', nodesPath);
  await cluster.close();
});
