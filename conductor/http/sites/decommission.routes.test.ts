import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Gateway, startGateway } from '#conductor/cluster/etcd/testing/gateway.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

const airship = '/api/v1.0';

let small: SmallCluster;
let gateway: Gateway;
let api: TestApi;
beforeAll(async () => {
  small = await startSmallCluster();
  api = await openTestApi({ settings: { BATON_KUBECONFIG: small.kubeconfigFile } });
});
afterAll(async () => {
  await api.close();
  await small.close();
});
beforeEach(async () => {
  gateway = await startGateway(['n2']);
});
afterEach(() => gateway.close());

/** Commits a site of both nodes, with an etcd cluster whose one member is on n2. @returns its revision */
async function commit(url = gateway.url): Promise<number> {
  const cluster = `{name: kubernetes, endpoints: ['${url}'], minimum_members: 1}`;
  const document = `---\nschema: promenade/EtcdClusters/v1\nmetadata: {schema: metadata/Document/v1, name: etcd}\ndata: {clusters: [${cluster}]}\n`;
  const text = `${['n1', 'n2'].map((name) => nodeDocument(name)).join('')}${document}`;
  const path = `${airship}/configdocs/site?buffermode=replace`;
  await api.call('POST', path, text, '', { 'Content-Type': 'application/x-yaml' });
  const { body } = await api.call('POST', `${airship}/commitconfigdocs`, undefined, '');
  return (body['details'] as { revision: number }).revision;
}

/** Code, reason, and the steps that told something, in order. */
async function decommission(node: string, query: string, revision: number) {
  const design = {
    rel: 'design',
    href: `deckhand+http://api.example/api/v1.0/revisions/${revision}/rendered-documents`,
    type: 'application/x-yaml',
  };
  const { status, body } = await api.call('POST', `/nodes/${node}/decommission${query}`, design, '');
  const { messageList } = body['details'] as { messageList: { message: string; error: boolean }[] };
  const steps = messageList.map(({ message, error }) => `${error ? '! ' : ''}${/^[a-z-]+(?=:)/.exec(message)?.[0]}`);
  return { status, reason: body['reason'], steps: [...new Set(steps)], messageList, message: String(body['message']) };
}

test('a node leaves Kubernetes and etcd, in the order of the seed', async () => {
  const revision = await commit();
  small.addPod({ name: 'web', node: 'n1' });
  await small.settle();
  const query = '?drain-node-timeout=10&drain-node-grace-period=1&apply-daemon-set=true';
  const { status, reason, steps, message } = await decommission('n1', query, revision);
  expect([status, reason, message]).toEqual([200, 'Success', 'Node n1 is decommissioned']);
  expect(steps).toEqual(['drain', 'clear-labels', 'remove-etcd', 'etcd-ready', 'shutdown-kubelet']);
  expect(gateway.asked.filter((path) => path.includes('remove'))).toEqual([]); // none of its members is on n1
  expect(small.podsOn('n1').map(({ metadata }) => metadata.labels?.['app'])).toEqual(['baton-kubelet-shutdown']);
  expect(small.simulator.world.isRunning('n1')).toBe(false);
});

test('what can only fail is refused before the drain', async () => {
  const revision = await commit(); // and n2 has the only one
  const forced = await decommission('n2', '?force=true', revision);
  expect([forced.status, forced.message]).toEqual([409, expect.stringContaining('the cluster without members')]);
  const { status, message } = await decommission('n2', '', await commit('http://127.0.0.1:9'));
  expect([status, message]).toEqual([409, expect.stringContaining('it is the last Ready node of its cluster')]);
  expect(small.node('n2')?.spec?.['unschedulable']).toBeUndefined();
});

test('a step that fails ends it: the rest is not begun', async () => {
  const revision = await commit('http://127.0.0.1:8');
  const query = '?drain-node-timeout=10&drain-node-grace-period=1&remove-etcd-timeout=1&force=true';
  const { status, reason, steps, messageList } = await decommission('n2', query, revision);
  expect([status, reason]).toEqual([500, 'DisassociateStepFailure']);
  expect(steps).toEqual(['drain', 'clear-labels', '! remove-etcd', 'etcd-ready', 'shutdown-kubelet']);
  expect(messageList.filter(({ message }) => message.endsWith('not begun'))).toHaveLength(2);
  expect(small.simulator.world.isRunning('n2')).toBe(true);
});

test('a bad request of a step is a failure of that step', async () => {
  const revision = await commit();
  const { status, reason, message } = await decommission(
    'n2',
    '?drain-node-timeout=600&drain-node-grace-period=600',
    revision,
  );
  expect([status, reason]).toEqual([500, 'DisassociateStepFailure']);
  expect(message).toContain('must be less than the timeout');
});

test('a node that the design, or the cluster, has not is not found', async () => {
  const revision = await commit();
  expect(await decommission('n9', '', revision)).toMatchObject({ status: 404, reason: 'NotFound' });
  const { store } = small.simulator;
  store.remove('nodes', store.get('nodes', 'n2'));
  expect(await decommission('n2', '', revision)).toMatchObject({ status: 404, reason: 'NotFound' });
});
