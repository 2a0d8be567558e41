import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#test/lab/wait-until.ts';
import { nodeOf, phaseOf, type Resource } from '#test/simulators/kubernetes/resource.ts';
import { newNode, newPod, newSet, type PodRequest } from '#test/simulators/kubernetes/scene.ts';
import {
  type KubernetesSimulator,
  type KubernetesSimulatorOptions,
  startKubernetesSimulator,
} from '#test/simulators/kubernetes/simulator.ts';

export interface SmallCluster {
  readonly simulator: KubernetesSimulator;
  readonly kubeconfigFile: string;
  readonly directory: string;
  node(name: string): Resource | undefined;
  podsOn(node: string): Resource[];
  addPod(request: PodRequest): Resource;
  /** A ReplicaSet whose pods all run before it returns. */
  addSet(name: string, replicas: number, annotations?: Readonly<Record<string, string>>): Promise<Resource>;
  /** Resolves when no pod is on its way to running. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** A cluster of two nodes, n1 and n2, with a kubeconfig file for it. */
export async function startSmallCluster(
  options: KubernetesSimulatorOptions & { readonly caFile?: string } = {},
): Promise<SmallCluster> {
  const simulator = await startKubernetesSimulator(options);
  const directory = await mkdtemp(join(tmpdir(), 'baton-kubernetes-'));
  const kubeconfigFile = join(directory, 'kubeconfig');
  await writeFile(kubeconfigFile, simulator.kubeconfig(options.caFile));
  const { store } = simulator;
  for (const name of ['n1', 'n2']) store.create('nodes', newNode(name));
  const settle = async (): Promise<void> => {
    await waitUntil('all pods to run', () => (store.list('pods').some(isOnItsWay) ? undefined : true), {
      everyMs: 10,
    });
  };
  return {
    simulator,
    kubeconfigFile,
    directory,
    node: (name) => store.find('nodes', name),
    podsOn: (node) => store.list('pods').filter((pod) => nodeOf(pod) === node),
    addPod: (request) => store.create('pods', newPod(request)),
    addSet: async (name, replicas, annotations) => {
      const set = store.create('replicasets', newSet(name, { replicas, ...(annotations ? { annotations } : {}) }));
      const count = (): number => store.list('pods').filter(({ metadata }) => metadata.labels?.['app'] === name).length;
      await waitUntil(`${replicas} pods of ${name}`, () => (count() >= replicas ? true : undefined), {
        everyMs: 10,
      });
      await settle();
      return set;
    },
    settle,
    close: async () => {
      await simulator.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function isOnItsWay(pod: Resource): boolean {
  return phaseOf(pod) === 'Pending' || pod.metadata.deletionTimestamp !== undefined;
}
