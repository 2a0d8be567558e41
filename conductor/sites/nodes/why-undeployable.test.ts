import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '#conductor/cluster/etcd/testing/gateway.ts';
import { findImpossible } from '#conductor/sites/nodes/why-undeployable.ts';
import { startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let gateway: Gateway;
beforeAll(async () => {
  [api, gateway] = await Promise.all([openTestApi(), startGateway(['n1', 'n2', 'n3'])]);
});
afterAll(async () => {
  await Promise.all([api.close(), gateway.close()]);
});

async function find(minimumMembers: number, names: readonly string[], staysOut = false, url = gateway.url) {
  const cluster = { name: 'main', endpoints: [url], members: [], minimumMembers };
  const site = { nodes: new Set(['n1', 'n2', 'n3']), etcdClusters: [cluster] };
  return Object.fromEntries(
    await findImpossible(api.context, site, { names, staysOut, force: false, kubernetes: false }),
  );
}

test('a member of a cluster that would be too small can not leave; members that may come back forbid nothing', async () => {
  const why = 'etcd cluster main: 2 voting members would be left, and minimum_members is 3';
  expect(await find(3, ['n1', 'n2'])).toEqual({ n1: why, n2: why });
  expect(await find(2, ['n1', 'n2'])).toEqual({});
});

test('of those that stay out the ones before count as gone', async () => {
  expect(await find(2, ['n1', 'n2'], true)).toEqual({
    n2: 'etcd cluster main: 1 voting member would be left, and minimum_members is 2',
  });
});

test('a member of which nothing says where it runs forbids it, a cluster that is silent does not', async () => {
  gateway.state.members = [
    { ID: '1', name: 'n1' },
    { ID: '2', name: 'stranger' },
  ];
  expect(await find(1, ['n1'])).toEqual({ n1: 'etcd cluster main: nothing says on which node stranger runs' });
  expect(await find(1, ['n1'], false, 'http://127.0.0.1:9')).toEqual({});
});

test('an entry that names the node and is no member forbids it as none would', async () => {
  gateway.state.members = [
    { ID: '1', name: 'n2' },
    { ID: '18', name: '' },
  ];
  const members = [{ node: 'n1', name: 'n1' }];
  const cluster = { name: 'main', endpoints: [gateway.url], members, minimumMembers: 1 };
  const site = { nodes: new Set(['n1', 'n2', 'n3']), etcdClusters: [cluster] };
  const leaving = { names: ['n1'], staysOut: false, force: false, kubernetes: false };
  expect(Object.fromEntries(await findImpossible(api.context, site, leaving))).toEqual({
    n1: 'etcd cluster main: nothing says on which node 12 at https://.example:2380 runs (no member has the name n1 that members gives for n1)',
  });
});

test('an account without the rights can take no node of the cluster out; one that is in none needs none', async () => {
  const small = await startSmallCluster();
  const own = await openTestApi({ settings: { BATON_KUBECONFIG: small.kubeconfigFile } });
  const site = { nodes: new Set(['n1', 'n9']), etcdClusters: [] };
  const leaving = { names: ['n1', 'n9'], staysOut: false, force: true, kubernetes: true };
  expect(await findImpossible(own.context, site, leaving)).toEqual(new Map());
  const stray = expect.stringMatching(/has no node "n9" \(--param not-in-cluster-ok=true/) as unknown;
  const mustBeIn = new Set(['n1', 'n9']);
  expect(Object.fromEntries(await findImpossible(own.context, site, { ...leaving, mustBeIn }))).toEqual({ n9: stray });
  small.simulator.access.deny({ right: 'patch nodes' });
  expect(Object.fromEntries(await findImpossible(own.context, site, leaving))).toEqual({
    n1: expect.stringContaining('the account of BATON_KUBECONFIG may not patch nodes') as unknown,
  });
  // of a step that is hours away
  small.simulator.access.deny({ right: 'delete nodes' });
  expect((await findImpossible(own.context, site, leaving)).get('n1')).toContain('may not patch nodes, delete nodes');
  await Promise.all([own.close(), small.close()]);
});
