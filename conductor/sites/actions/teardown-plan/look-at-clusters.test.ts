import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startGateway } from '#conductor/cluster/etcd/testing/gateway.ts';
import { lookAtClusters } from '#conductor/sites/actions/teardown-plan/look-at-clusters.ts';
import { makeSite } from '#conductor/sites/actions/testing/site-world.ts';
import { teardownOrder } from '#conductor/sites/nodes/testing/node-cases.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { newBudget } from '#test/simulators/kubernetes/scene.ts';
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
    teardown: { ...teardownOrder, timeouts: { ...teardownOrder.timeouts, drainTimeout: 90 } },
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

test('an etcd that takes the request and never answers is reported, and holds nothing else up', async () => {
  const silent = createServer();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const cluster = { name: 'silent', endpoints: [`http://127.0.0.1:${port}`], members: [], minimumMembers: 1 };
  const found = await lookAtClusters(
    api.context,
    { ...site, etcdClusters: [cluster] },
    { names, teardown: { ...teardownOrder, kubernetes: false } },
  );
  silent.closeAllConnections();
  silent.close();
  expect(found.wrong).toEqual([expect.stringContaining("etcd cluster silent can't be asked now")]);
});

test('members of which nothing says where they run are told, and entries that are no member', async () => {
  const gateway = await startGateway(['n1', '']);
  const members = [{ node: 'x1', name: 'etcd-x1' }, { name: 'genesis' }];
  const cluster = { name: 'main', endpoints: [gateway.url], members, minimumMembers: 1 };
  const { nodes: found, wrong } = await lookAtClusters(
    api.context,
    { ...site, etcdClusters: [cluster] },
    { names: ['x1'], teardown: { ...teardownOrder, kubernetes: false } },
  );
  await gateway.close();
  expect(found.get('x1')?.wrong).toEqual([
    expect.stringMatching(
      /^etcd cluster main: nothing says on which node 2 at .* runs \(no member has the name etcd-x1 that members gives for x1\)$/,
    ),
  ]);
  expect(wrong).toContain(
    'etcd cluster main: no member has the name etcd-x1 that members gives for x1; no member has the name genesis that members gives',
  );
});

test('a member that the documents put on a node which the site does not have may run on any node', async () => {
  const gateway = await startGateway(['x2', 'etcd-x1']);
  const cluster = {
    name: 'main',
    endpoints: [gateway.url],
    members: [{ node: 'x1111', name: 'etcd-x1' }],
    minimumMembers: 1,
  };
  const { nodes: found } = await lookAtClusters(
    api.context,
    { ...site, etcdClusters: [cluster] },
    { names: ['x1'], teardown: { ...teardownOrder, kubernetes: false } },
  );
  await gateway.close();
  expect(found.get('x1')?.wrong).toEqual([
    'etcd cluster main: nothing says on which node etcd-x1 runs ' +
      '(x1111, for which members gives the name etcd-x1, is not a node of the site)',
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

test('pods that budgets keep now are told with them, and those that something is lost with; budgets are listed once', async () => {
  const { store, requests } = small.simulator;
  await small.addSet('web', 2);
  await small.addSet('free', 2);
  store.create('poddisruptionbudgets', newBudget('web', 'web', 2));
  store.create('poddisruptionbudgets', newBudget('free', 'free', 1));
  small.addPod({ name: 'bare', node: 'n1' });
  await small.settle();
  await waitUntil(
    'the budgets to be judged',
    () => (store.list('poddisruptionbudgets').every(({ status }) => status?.['desiredHealthy']) ? true : undefined),
    { timeoutMs: 240_000, everyMs: 10 },
  );
  const before = requests.length;
  const { nodes: found, wrong } = await look(small.kubeconfigFile);
  const asked = requests.slice(before).map(({ path }) => path);
  expect(asked.filter((path) => path.includes('poddisruptionbudgets'))).toHaveLength(1);
  expect(asked.some((path) => path.includes('eviction'))).toBe(false);
  const web = expect.stringMatching(/^default\/web-/) as unknown;
  expect(found.get('n1')).toMatchObject({
    kubernetes: {
      pods: 3,
      evicted: 3,
      kept_by_budgets: [
        { pod: web, budgets: [{ name: 'web', current_healthy: 2, desired_healthy: 2, disruptions_allowed: 0 }] },
      ],
      lost: [{ pod: 'default/bare', because: 'unmanaged' }],
    },
    wrong: [],
  });
  expect(found.get('x7')).toMatchObject({ kubernetes: { evicted: null, kept_by_budgets: null, lost: null } });
  expect(wrong.filter((text) => text.includes('udget'))).toEqual([
    expect.stringMatching(
      /^PodDisruptionBudget default\/web allows no disruption \(2 healthy, 2 needed\): default\/web-\w+ on n1; the drain asks again until its 90 s are over$/,
    ),
  ]);
});

test('who may not read budgets is told so, and what is known besides', async () => {
  small.simulator.inject({ method: 'GET', path: /poddisruptionbudgets/, status: 403, times: 2 });
  const { nodes: found, wrong } = await look(small.kubeconfigFile);
  expect(wrong).toContainEqual(expect.stringContaining("disruption budgets can't be read now"));
  expect(found.get('n1')).toMatchObject({ kubernetes: { evicted: 3, kept_by_budgets: null }, wrong: [] });
});

test('who may not watch nodes is warned', async () => {
  small.simulator.access.deny({ right: 'watch nodes' });
  const { wrong } = await look(small.kubeconfigFile);
  expect(wrong).toContainEqual(expect.stringContaining('the account of BATON_KUBECONFIG may not watch nodes'));
});
