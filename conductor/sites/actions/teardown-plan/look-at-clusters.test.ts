import { afterAll, beforeAll, expect, test } from 'vitest';
import { lookAtClusters } from '#conductor/sites/actions/teardown-plan/look-at-clusters.ts';
import { makeSite } from '#conductor/sites/actions/testing/site-world.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let small: SmallCluster;
beforeAll(async () => {
  [api, small] = await Promise.all([openTestApi(), startSmallCluster()]);
});
afterAll(async () => {
  await Promise.all([api.close(), small.close()]);
});

const names = ['n1', ...Array.from({ length: 30 }, (_, index) => `x${index}`)];
const nodes = names.map((name) => ({ name, rack: 'r1', tags: [], labels: {} }));
const etcdClusters = [{ name: 'main', endpoints: ['http://127.0.0.1:9'], members: [], minimumMembers: 1 }];
const site = { nodes: new Set(makeSite(nodes, { groups: [] }).nodes.keys()), etcdClusters };
const look = (kubeconfigFile: string) =>
  lookAtClusters({ ...api.context, config: { ...api.context.config, kubeconfigFile } }, site, {
    names,
    teardown: { kubernetes: true, notInClusterOk: false },
  });

test('each node is found, or told to be unknown, and what concerns all is told once', async () => {
  const found = await look(small.kubeconfigFile);
  expect([...found.nodes.keys()]).toEqual(names);
  expect(found.nodes.get('n1')).toMatchObject({ kubernetes: { is_member: true, ready: true }, wrong: [] });
  expect(found.nodes.get('x7')).toMatchObject({
    kubernetes: { is_member: false },
    etcd: [{ cluster: 'main', members: null }],
    wrong: [expect.stringContaining('not-in-cluster-ok')],
  });
  expect(found.wrong).toEqual([
    expect.stringContaining('no daemon set of kubelet-shutdown.yaml'),
    expect.stringContaining("etcd cluster main can't be asked now"),
  ]);
});

test('a server that does not answer is asked for one of them, and told once', async () => {
  const before = small.simulator.requests.length;
  small.simulator.goDown();
  const found = await look(small.kubeconfigFile);
  small.simulator.comeBack();
  expect(small.simulator.requests.length - before).toBeLessThan(3);
  expect(found.wrong.filter((text) => text.startsWith("Kubernetes can't be asked now"))).toHaveLength(1);
  expect(found.nodes.get('n1')).toMatchObject({ kubernetes: { is_member: null }, wrong: [] });
  expect((await look('/nowhere/kubeconfig')).wrong).toHaveLength(2);
});
