import { afterAll, beforeAll, expect, test } from 'vitest';
import { newNode } from '#test/simulators/kubernetes/scene.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { stopSeconds } from '#test/simulators/kubernetes/world.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { type EtcdTestCluster, startEtcd } from '#test/support/etcd.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { createSiteOperator } from '#test/support/site-operator.ts';

/** Seed 001's decommission with a conductor as it ships, three real etcd members, and the simulated Kubernetes. */

const nodes = ['n1', 'n2', 'n3'];
let etcd: EtcdTestCluster;
let small: SmallCluster;
let conductor: ConductorProcess;

beforeAll(async () => {
  [etcd, small] = await Promise.all([startEtcd(nodes), startSmallCluster()]);
  small.simulator.store.create('nodes', newNode('n3'));
  conductor = await prepareConductor({
    BATON_KUBECONFIG: small.kubeconfigFile,
    BATON_ETCD_TLS_DIR: etcd.tlsDirectory,
  });
  await conductor.start();
  const { name, endpoints, tls } = etcd.describe();
  const data = JSON.stringify({ clusters: [{ name, endpoints, tls, minimum_members: 2 }] });
  const cluster = `---\nschema: promenade/EtcdClusters/v1\nmetadata: {schema: metadata/Document/v1, name: etcd}\ndata: ${data}\n`;
  await createSiteOperator(conductor.url).commit(
    'site',
    `${nodes.map((each) => nodeDocument(each)).join('')}${cluster}`,
  );
});
afterAll(async () => {
  await conductor.close();
  await Promise.all([etcd.close(), small.close()]);
});

function decommission(node: string): Promise<Response> {
  const query = 'drain-node-timeout=240&drain-node-grace-period=2&etcd-ready-timeout=240&apply-daemon-set=true';
  return fetch(`${conductor.url}/nodes/${node}/decommission?${query}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ rel: 'design', href: 'committed', type: 'application/x-yaml' }),
  });
}

async function members(): Promise<string[]> {
  const listed = JSON.parse(await etcd.etcdctl('member', 'list', '-w', 'json')) as { members: { name: string }[] };
  return listed.members.map(({ name }) => name).toSorted();
}

test('a node leaves both clusters, though its conductor is killed; the next one etcd needs', async () => {
  await small.addSet('web', 6, { [stopSeconds]: '1' });
  await etcd.moveLeader('n1');
  const evictions = (): number => small.simulator.requests.filter(({ path }) => path.endsWith('/eviction')).length;
  const cut = decommission('n1').catch(String);
  await expect.poll(evictions).toBeGreaterThan(0);
  await conductor.kill('SIGKILL');
  expect(await cut).toContain('fetch failed');
  expect(await members()).toEqual(nodes);

  await conductor.start();
  for (const occasion of ['first', 'again']) {
    const answer = await decommission('n1');
    const body = (await answer.json()) as Record<string, unknown>;
    expect([occasion, answer.status, body]).toEqual([
      occasion,
      200,
      expect.objectContaining({ message: 'Node n1 is decommissioned', reason: 'Success' }),
    ]);
  }
  // who is asked may not have heard yet
  await expect.poll(members).toEqual(['n2', 'n3']);
  expect(await etcd.leader()).not.toBe('n1');
  expect(small.node('n1')?.spec).toMatchObject({ unschedulable: true });
  expect(small.podsOn('n1').map(({ metadata }) => metadata.labels?.['app'])).toEqual(['baton-kubelet-shutdown']);
  expect(small.simulator.world.isRunning('n1')).toBe(false);

  const refused = await decommission('n2');
  expect([refused.status, await refused.json()]).toMatchObject([409, { reason: 'Conflict', code: 409 }]);
  expect(small.node('n2')?.spec).not.toMatchObject({ unschedulable: true });
  expect(await members()).toEqual(['n2', 'n3']);
  expect(small.simulator.world.isRunning('n2')).toBe(true);

  const removed = await fetch(`${conductor.url}/nodes/n1/remove-from-cluster`, { method: 'POST' });
  expect(removed.status).toBe(200);
  expect(small.node('n1')).toBeUndefined();
});
