import { afterAll, beforeAll, expect, test } from 'vitest';
import { listPodsOf } from '#conductor/cluster/kubernetes/client/objects.ts';
import { withSharedCluster } from '#conductor/cluster/kubernetes/client/share-cluster.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';

let small: SmallCluster;
beforeAll(async () => {
  small = await startSmallCluster();
  // the client's package takes seconds to load on a busy machine, longer than a cluster is shared
  await withSharedCluster({}, small.kubeconfigFile, () => Promise.resolve());
});
afterAll(() => small.close());

test('those who look at the same time share one, others have their own', async () => {
  const owner = {};
  const take = (whose: object) => withSharedCluster(whose, small.kubeconfigFile, (cluster) => Promise.resolve(cluster));
  const [one, two] = await Promise.all([take(owner), take(owner)]);
  expect(two).toBe(one);
  expect(await take(owner)).toBe(one);
  expect(await take({})).not.toBe(one);
});

test('one that has failed is not kept', async () => {
  const owner = {};
  const seen: unknown[] = [];
  const fail = withSharedCluster(owner, small.kubeconfigFile, (cluster) => {
    seen.push(cluster);
    return Promise.reject(new Error('a login that is no good any more'));
  });
  await expect(fail).rejects.toThrow('no good any more');
  await withSharedCluster(owner, small.kubeconfigFile, async (cluster) => {
    seen.push(cluster);
    expect(await listPodsOf(cluster, 'n1')).toEqual([]);
  });
  expect(seen[1]).not.toBe(seen[0]);
  await expect(withSharedCluster(owner, undefined, () => Promise.resolve())).rejects.toThrow('BATON_KUBECONFIG');
});
