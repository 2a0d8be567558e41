import { afterEach, expect, test } from 'vitest';
import { findWatchedNode, forgetWatchedNode } from '#conductor/cluster/kubernetes/node-watch.ts';
import { newNode } from '#test/simulators/kubernetes/scene.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';

const owner = {};
const stopping = new AbortController().signal;
let small: SmallCluster;
afterEach(() => small.close());

const ask = (name: string, changed: () => void = () => undefined) =>
  findWatchedNode({
    owner,
    kubeconfigFile: small.kubeconfigFile,
    name,
    againMs: 60_000,
    changed,
    signal: new AbortController().signal,
    stopping,
  });

test('two hundred who wait cost one watch; each is called when its own node joins', async () => {
  small = await startSmallCluster();
  const names = Array.from({ length: 200 }, (_, index) => `w${index}`);
  await ask('w0');
  await expect.poll(() => small.simulator.watchCount()).toBe(1);
  const joined = new Set<string>();
  for (const name of names) expect(await ask(name, () => joined.add(name))).toBeUndefined();
  const before = small.simulator.requests.length;
  joined.clear();
  small.simulator.store.create('nodes', newNode('w7'));
  await expect.poll(() => [...joined]).toEqual(['w7']);
  for (const name of names) await ask(name);
  expect(await ask('w7')).toMatchObject({ metadata: { name: 'w7' } });
  expect(small.simulator.watchCount()).toBe(1);
  expect(small.simulator.requests.length).toBe(before);
  for (const name of names) forgetWatchedNode(owner, name);
  await expect.poll(() => small.simulator.watchCount()).toBe(0);
});

test('while the server is away the question fails, and later it is answered again', async () => {
  small = await startSmallCluster();
  expect(await ask('n1')).toMatchObject({ metadata: { name: 'n1' } });
  await expect.poll(() => small.simulator.watchCount()).toBe(1);
  small.simulator.goDown();
  await expect
    .poll(() =>
      ask('n1').then(
        () => 'answered',
        () => 'refused',
      ),
    )
    .toBe('refused');
  small.simulator.comeBack();
  await expect.poll(() => ask('n1').catch(() => undefined)).toMatchObject({ metadata: { name: 'n1' } });
  forgetWatchedNode(owner, 'n1');
});
