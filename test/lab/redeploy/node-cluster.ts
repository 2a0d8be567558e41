import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { LabSite } from '#test/lab/lab.ts';
import { type Outlet, openOutlet } from '#test/lab/outlet.ts';
import { type SeenTeardown, watchTeardown } from '#test/lab/redeploy/watch-teardown.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import type { Draft } from '#test/simulators/kubernetes/resource.ts';
import { nodeOf, phaseOf } from '#test/simulators/kubernetes/resource.ts';
import { newBudget, newNode, newPod, newSet } from '#test/simulators/kubernetes/scene.ts';
import { type KubernetesSimulator, startKubernetesSimulator } from '#test/simulators/kubernetes/simulator.ts';
import { stopSeconds } from '#test/simulators/kubernetes/world.ts';
import { type EtcdTestCluster, startEtcd } from '#test/support/etcd.ts';

/**
 * Clusters that the machine is part of: a Kubernetes cluster, whose API server and kubelets are
 * `test/simulators/kubernetes`, and an etcd cluster of three real members, of which one counts as the machine's. Both
 * run beside the machine, not in it.
 */
export interface NodeCluster {
  readonly simulator: KubernetesSimulator;
  readonly etcd: EtcdTestCluster;
  /** Settings of the conductor. */
  readonly settings: Readonly<Record<string, string>>;
  /** The machine's system, in this boot of it, joins both, and gets pods; a join script would do that. */
  join(bootId: string): Promise<void>;
  /** Another of the lab's machines joins Kubernetes alone. */
  joinKubernetes(node: string, bootId: string): void;
  /** Something reports as the machine's node, with this boot. */
  joinAsImpostor(bootId: string): void;
  /** Looks at what becomes of the machine's node from now on. */
  watch(): SeenTeardown;
  /** Names of etcd's members, as etcdctl lists them. */
  members(): Promise<string[]>;
}

export const etcdClusterName = 'kubernetes';
/** They run on no node of the site. */
export const otherMembers = ['etcd-a', 'etcd-b'] as const;
const otherNodes = ['kube-a', 'kube-b'];
const workerRole = { 'node-role.kubernetes.io/worker': '' };
/** Replicas of the set that a budget guards. */
const replicas = 6;
export const minAvailable = 5;
const timeoutMs = 20_000;

/** Started inside a lab, with which it ends. */
export async function startNodeCluster(site: LabSite, node: string): Promise<NodeCluster> {
  const simulator = await startKubernetesSimulator();
  site.defer(() => simulator.close());
  for (const name of otherNodes) simulator.store.create('nodes', newNode(name, workerRole));
  const manifest = new URL('../../../conductor/cluster/kubernetes/kubelet-shutdown.yaml', import.meta.url);
  simulator.store.create('daemonsets', parse(readFileSync(manifest, 'utf8')) as Draft);
  simulator.store.create('daemonsets', newSet('node-log'));
  const kubeconfigFile = join(site.directory.path, 'kubeconfig');
  writeFileSync(kubeconfigFile, simulator.kubeconfig());

  const etcd = await startEtcd([node, ...otherMembers], { below: site.directory.sockets });
  site.defer(() => etcd.close());
  const outlet = await openOutlet(site);
  await outlet.offer(portOf(simulator.server), ...etcd.running().map(({ url }) => portOf(url)));

  const rounds: string[] = [];
  return {
    simulator,
    etcd,
    settings: { BATON_KUBECONFIG: kubeconfigFile, BATON_ETCD_TLS_DIR: etcd.tlsDirectory },
    join: async (bootId) => {
      rounds.push(node);
      await joinEtcd(etcd, outlet, node);
      await joinKubernetes(simulator, { node, bootId }, `web${rounds.length}`);
    },
    joinKubernetes: (name, bootId) => register(simulator, newNode(name, workerRole, bootId)),
    joinAsImpostor: (bootId) =>
      register(simulator, { ...newNode(node, workerRole, bootId), spec: { unschedulable: true } }),
    watch: () => watchTeardown({ simulator, etcd, node, app: `web${rounds.length}` }),
    members: () => listMembers(etcd),
  };
}

async function joinEtcd(etcd: EtcdTestCluster, outlet: Outlet, node: string): Promise<void> {
  if ((await listMembers(etcd)).includes(node)) return;
  await etcd.add(node);
  await outlet.offer(portOf(etcd.member(node).url));
}

function register({ store, world }: KubernetesSimulator, node: Draft): void {
  const { name } = node.metadata;
  const old = store.find('nodes', name);
  if (old) store.remove('nodes', old);
  store.create('nodes', node);
  world.startKubelet(name);
}

async function joinKubernetes(
  simulator: KubernetesSimulator,
  { node, bootId }: { readonly node: string; readonly bootId: string },
  app: string,
): Promise<void> {
  const { store } = simulator;
  register(simulator, newNode(node, { ...workerRole, rack: 'rack01' }, bootId));
  store.create('replicasets', newSet(app, { replicas, annotations: { [stopSeconds]: '1' } }));
  store.create('poddisruptionbudgets', newBudget(app, app, minAvailable));
  store.create('pods', newPod({ name: `${app}-scratch`, node, hasLocalData: true }));
  await waitUntil(
    `pods on ${node}`,
    () => {
      const pods = store.list('pods').filter((pod) => pod.metadata.labels?.['app'] === app);
      const isHere = pods.some((pod) => nodeOf(pod) === node);
      return isHere && pods.filter((pod) => phaseOf(pod) === 'Running').length === replicas ? true : undefined;
    },
    { timeoutMs, everyMs: 20 },
  );
}

async function listMembers(etcd: EtcdTestCluster): Promise<string[]> {
  const { members } = JSON.parse(await etcd.etcdctl('member', 'list', '-w', 'json')) as {
    members: { name: string }[];
  };
  return members.map(({ name }) => name).toSorted();
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
