import { nodeOf, phaseOf } from '#test/simulators/kubernetes/resource.ts';
import type { KubernetesSimulator } from '#test/simulators/kubernetes/simulator.ts';
import type { Change } from '#test/simulators/kubernetes/store.ts';
import type { EtcdTestCluster } from '#test/support/etcd.ts';

/** When the node's part of its clusters came to its end, in milliseconds since 1970. */
export interface TeardownTimes {
  cordoned?: number;
  /** No pod but those of daemon sets is on it. */
  drained?: number;
  /** Without the labels that were added. */
  unlabelled?: number;
  /** The node's etcd has ended: one that is not a member any more does so itself. */
  leftEtcd?: number;
  /** The pod that stops its kubelet runs. */
  kubeletStopped?: number;
  /** The node object is deleted. */
  removed?: number;
}

export interface SeenTeardown {
  readonly times: TeardownTimes;
  /** Pods on the node when it began, daemon sets' left out. */
  readonly pods: readonly string[];
  /** Pods that ended after an eviction was asked for. */
  readonly evicted: readonly string[];
  /** Ready pods of the guarded set, at the least. */
  fewestReady(): number;
  /** Nothing is looked at any more. */
  end(): void;
}

export interface WatchedNode {
  readonly simulator: KubernetesSimulator;
  readonly etcd: EtcdTestCluster;
  readonly node: string;
  /** The set that a budget guards. */
  readonly app: string;
}

const shutdownApp = 'baton-kubelet-shutdown';

/** Looks at the objects behind the API server, and at the member's process: not at what the conductor says of them. */
export function watchTeardown({ simulator, etcd, node, app }: WatchedNode): SeenTeardown {
  const { store, requests } = simulator;
  const times: TeardownTimes = {};
  const note = (what: keyof TeardownTimes): void => {
    times[what] ??= Date.now();
  };
  const own = (): string[] =>
    store
      .list('pods')
      .filter((pod) => nodeOf(pod) === node && !isDaemon(pod))
      .map(({ metadata }) => metadata.name);
  const ready = (): number =>
    store
      .list('pods')
      .filter((pod) => pod.metadata.labels?.['app'] === app && phaseOf(pod) === 'Running')
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined).length;
  const pods = own();
  const firstRequest = requests.length;
  const evicted: string[] = [];
  const seen = { fewestReady: ready() };
  const unsubscribe = store.subscribe(({ plural, type, object }: Change) => {
    if (plural === 'nodes' && object.metadata.name === node) {
      if (type === 'DELETED') note('removed');
      else {
        if (object.spec?.['unschedulable'] === true) note('cordoned');
        if (!addedLabels.some((label) => label in (object.metadata.labels ?? {}))) note('unlabelled');
      }
    }
    if (plural !== 'pods') return;
    seen.fewestReady = Math.min(seen.fewestReady, ready());
    const { name, labels } = object.metadata;
    if (type === 'DELETED' && pods.includes(name)) {
      const wasAsked = requests.slice(firstRequest).some(({ path }) => path.includes(`/pods/${name}/eviction`));
      if (wasAsked) evicted.push(name);
      if (own().length === 0) note('drained');
    }
    if (labels?.['app'] === shutdownApp && nodeOf(object) === node && phaseOf(object) === 'Running') {
      note('kubeletStopped');
    }
  });
  void etcd.member(node).exited.then(() => note('leftEtcd'));
  return { times, pods, evicted, fewestReady: () => seen.fewestReady, end: unsubscribe };
}

/** Labels as `joinKubernetes` gives them. */
const addedLabels = ['node-role.kubernetes.io/worker', 'rack'];

function isDaemon({ metadata }: Change['object']): boolean {
  return metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet') ?? false;
}
