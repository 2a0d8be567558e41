import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { nodesPath } from '#conductor/cluster/kubernetes/client/objects.ts';
import { openCluster } from '#conductor/cluster/kubernetes/client/open-cluster.ts';
import { newNode } from '#test/simulators/kubernetes/scene.ts';
import { type OpenedCluster, openSmallCluster } from '#test/support/open-small-cluster.ts';

let small: OpenedCluster;
beforeEach(async () => {
  small = await openSmallCluster({ token: 'a-token' });
});
afterEach(() => small.close());

async function kubeconfig(text: string): Promise<string> {
  const file = join(small.directory, 'other');
  await writeFile(file, text);
  return file;
}

test('a kubeconfig that is none says what is wrong with it', async () => {
  await expect(openCluster(undefined)).rejects.toThrow('set BATON_KUBECONFIG');
  await expect(openCluster('/no/such/file')).rejects.toThrow('BATON_KUBECONFIG: read /no/such/file');
  await expect(openCluster(await kubeconfig('{}'))).rejects.toMatchObject({ code: 'invalid_argument' });
  const contextless = small.simulator.kubeconfig().replace('"current-context":"simulator"', '"current-context":"x"');
  await expect(openCluster(await kubeconfig(contextless))).rejects.toThrow('no current context');
  const plain = small.simulator.kubeconfig('/no/such/ca.crt').replace('http:', 'https:');
  await expect(openCluster(await kubeconfig(plain))).rejects.toThrow('prepare a login with');
});

test('refusals have codes, and the server’s words', async () => {
  const get = (path: string) => small.cluster.request('GET', path);
  await expect(get('/api/v1/nodes/n9')).rejects.toMatchObject({
    code: 'not_found',
    message: `GET /api/v1/nodes/n9 at the Kubernetes API server ${small.simulator.server}: HTTP 404`,
    cause: { message: 'nodes "n9" not found' },
  });
  for (const path of ['/api/v1/gadgets/n9', '/prefix/api/v1/nodes/n9']) {
    await expect(get(path)).rejects.toMatchObject({ code: 'unavailable', retryable: true });
  }
  await expect(get('/prefix/api/v1/nodes/n9')).rejects.toThrow('It said: "404 page not found"');
  for (const [status, code, retryable] of [
    [401, 'forbidden', false],
    [403, 'forbidden', false],
    [409, 'conflict', true],
    [422, 'invalid_argument', false],
    [429, 'busy', true],
    [500, 'unavailable', true],
    [503, 'unavailable', true],
  ] as const) {
    // what is refused is asked for again, with a credential that was read again and to a server that has started
    const times = new Map<number, number>([
      [401, 3],
      [403, 2],
    ]).get(status);
    small.simulator.inject({ path: /nodes$/, status, body: '<html>', times: times ?? 1 });
    await expect(get(nodesPath)).rejects.toMatchObject({ code, retryable });
  }
  const stranger = small.simulator.kubeconfig().replace('a-token', 'another');
  const other = await openCluster(await kubeconfig(stranger));
  await expect(other.request('GET', nodesPath)).rejects.toMatchObject({ code: 'forbidden' });
  await other.close();
});

test('a request that is not answered ends, and so does one that nobody waits for', async () => {
  small.simulator.inject({ path: /nodes$/, hang: true, times: 3 });
  const hasty = await openCluster(small.kubeconfigFile, { requestTimeoutMs: 300 });
  await expect(hasty.request('GET', nodesPath, { timeoutMs: 100 })).rejects.toThrow('no answer within 0.1 s');
  await expect(hasty.request('GET', nodesPath)).rejects.toThrow('no answer within 0.3 s');
  await hasty.close();
  const hungUp = new AbortController();
  const request = small.cluster.request('GET', nodesPath, { signal: hungUp.signal });
  hungUp.abort();
  await expect(request).rejects.toMatchObject({ code: 'aborted' });
});

test('connections are used again', async () => {
  for (let index = 0; index < 9; index += 1) await small.cluster.request('GET', nodesPath);
  // the next request may begin a moment before the last one's connection is free
  expect(small.simulator.connectionCount()).toBeLessThan(4);
});

test('a watch goes on after its end, after what it missed was forgotten, and after an outage', async () => {
  const { simulator, cluster } = small;
  const leaving = new AbortController();
  let changes = 0;
  cluster.watch(nodesPath, {}, leaving.signal, () => {
    changes += 1;
  });
  const grows = async (act: () => void): Promise<void> => {
    const before = changes;
    act();
    await expect.poll(() => changes).toBeGreaterThan(before);
  };
  await expect.poll(() => simulator.watchCount()).toBe(1);
  await grows(() => simulator.store.create('nodes', newNode('n3')));
  simulator.endWatches();
  await expect.poll(() => simulator.watchCount()).toBe(1);
  await grows(() => simulator.store.create('nodes', newNode('n4')));
  simulator.goDown();
  simulator.store.create('nodes', newNode('n5'));
  simulator.store.compact();
  await grows(() => simulator.comeBack());
  await expect.poll(() => simulator.watchCount()).toBe(1);
  leaving.abort();
  await expect.poll(() => simulator.watchCount()).toBe(0);
});

test('a token file is used, and read again', async () => {
  const tokenFile = join(small.directory, 'token');
  await writeFile(tokenFile, 'a-token\n');
  const user = small.simulator.kubeconfig().replace('{"token":"a-token"}', '{"token":"old","tokenFile":"token"}');
  const cluster = await openCluster(await kubeconfig(user));
  await cluster.request('GET', nodesPath);
  small.simulator.access.setToken('another');
  await writeFile(tokenFile, 'another');
  await cluster.request('GET', nodesPath);
  await rm(tokenFile);
  await expect(cluster.request('GET', nodesPath)).rejects.toMatchObject({ cause: { code: 'ENOENT' } });
  await cluster.close();
});

test('what a server refuses while it starts is waited out, what it means is not', async () => {
  const { access, requests } = small.simulator;
  for (const status of [401, 403] as const) {
    access.startAgain(500, status);
    await small.cluster.request('GET', nodesPath);
  }
  access.deny({ right: 'list nodes' });
  const before = requests.length;
  await expect(small.cluster.request('GET', nodesPath)).rejects.toMatchObject({ code: 'forbidden' });
  expect(requests.slice(before).map(({ path }) => path)).toEqual([nodesPath, '/readyz', nodesPath]);
});

test('a kubeconfig that was rewritten is read when its credential is not taken any more', async () => {
  await Promise.all([1, 2, 3].map(() => small.cluster.request('GET', nodesPath)));
  small.simulator.access.setToken('another');
  await writeFile(small.kubeconfigFile, small.simulator.kubeconfig().replace('a-token', 'another'));
  const answers = await Promise.all([1, 2, 3].map(() => small.cluster.request('GET', nodesPath)));
  expect(answers).toHaveLength(3);
});
