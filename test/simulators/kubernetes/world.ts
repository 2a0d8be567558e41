import { isDeepStrictEqual } from 'node:util';
import { deleteObject, isFinished } from '#test/simulators/kubernetes/deletion.ts';
import { budgetState } from '#test/simulators/kubernetes/eviction.ts';
import {
  conditionOf,
  controllerOf,
  nodeOf,
  type Part,
  phaseOf,
  type Resource,
} from '#test/simulators/kubernetes/resource.ts';
import { newPod, nodeStatus, podStatus } from '#test/simulators/kubernetes/scene.ts';
import { type Store, timestamp } from '#test/simulators/kubernetes/store.ts';

/** How fast things go behind the API server, in milliseconds. */
export interface Pace {
  /** From bound to running. */
  startMs: number;
  /** Between two renewals of a kubelet's lease. */
  leaseMs: number;
  /** Without a sign of life after which a node is held for lost. */
  lostMs: number;
}

/** Kubelets and controllers, as far as a drain sees them. */
export interface World {
  /** From now on the node's pods neither start nor end, and it is held for lost after a while. */
  stopKubelet(node: string): void;
  startKubelet(node: string): void;
  isRunning(node: string): boolean;
  close(): void;
}

/** Annotation of a pod: seconds that it takes to end, at the most its grace; `never` = it hangs. */
export const stopSeconds = 'simulator/stop-seconds';
/** Label of pods that stop their node's kubelet, as those of `kubelet-shutdown.yaml` do. */
const stopsKubelet = { key: 'app', value: 'baton-kubelet-shutdown' };

export function createWorld(store: Store, pace: Pace): World {
  const stopped = new Set<string>();
  const timers = new Set<NodeJS.Timeout>();
  const ending = new Map<string, number>();
  const after = (ms: number, act: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      act();
    }, ms);
    timers.add(timer);
  };
  const runs = (node: string): boolean => !stopped.has(node) && store.find('nodes', node) !== undefined;
  const setStatus = (plural: string, object: Resource, status: Part): void =>
    void store.replace(plural, { ...object, status: { ...object.status, ...status } });

  const stopKubelet = (node: string): void => {
    stopped.add(node);
    after(pace.lostMs, () => {
      const object = store.find('nodes', node);
      if (object && stopped.has(node)) setStatus('nodes', object, nodeStatus('Unknown'));
    });
  };

  /** The kubelet stops a pod that is to end, and tells the API server when it has. */
  const endPod = (pod: Resource, node: string): void => {
    const { uid, name, namespace, annotations, deletionGracePeriodSeconds: grace = 0 } = pod.metadata;
    const takes = annotations?.[stopSeconds] ?? '0';
    if (takes === 'never' || (ending.get(uid) ?? Number.POSITIVE_INFINITY) <= grace) return;
    ending.set(uid, grace);
    after(Math.min(Number(takes), grace) * 1000, () => {
      const now = store.find('pods', name, namespace);
      if (now?.metadata.uid === uid && runs(node)) deleteObject(store, 'pods', now, { gracePeriodSeconds: 0 });
    });
  };

  const startPod = (pod: Resource, node: string): void => {
    const { uid, name, namespace, labels } = pod.metadata;
    after(pace.startMs, () => {
      const now = store.find('pods', name, namespace);
      if (now?.metadata.uid !== uid || phaseOf(now) !== 'Pending' || !runs(node)) return;
      setStatus('pods', now, podStatus('Running'));
      if (labels?.[stopsKubelet.key] === stopsKubelet.value) stopKubelet(node);
    });
  };

  const unsubscribe = store.subscribe(({ plural, object, type }) => {
    const node = nodeOf(object);
    if (plural === 'pods' && node !== undefined && type !== 'DELETED' && runs(node)) {
      if (object.metadata.deletionTimestamp !== undefined) endPod(object, node);
      else if (phaseOf(object) === 'Pending') startPod(object, node);
    }
    if (plural === 'nodes' && type === 'DELETED') collectPods(store, object.metadata.name);
    if (plural !== 'leases') wake();
  });

  const turn = { isDue: false };
  const wake = (): void => {
    if (turn.isDue) return;
    turn.isDue = true;
    after(1, () => {
      turn.isDue = false;
      keepReplicas(store);
      keepDaemons(store);
      schedule(store, runs);
      keepBudgets(store);
    });
  };
  const renew = setInterval(() => renewLeases(store, runs), pace.leaseMs);

  return {
    stopKubelet,
    startKubelet: (node) => {
      stopped.delete(node);
      const object = store.find('nodes', node);
      if (object) setStatus('nodes', object, nodeStatus('True'));
      for (const pod of store.list('pods').filter((each) => nodeOf(each) === node)) {
        if (pod.metadata.deletionTimestamp !== undefined) endPod(pod, node);
      }
    },
    isRunning: runs,
    close: () => {
      unsubscribe();
      clearInterval(renew);
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

function ownedBy(store: Store, owner: Resource): Resource[] {
  return store.list('pods', owner.metadata.namespace).filter((pod) => controllerOf(pod)?.uid === owner.metadata.uid);
}

/** The ReplicaSet controller: what is ending counts as gone. */
function keepReplicas(store: Store): void {
  for (const set of store.list('replicasets')) {
    const active = ownedBy(store, set).filter(
      (pod) => pod.metadata.deletionTimestamp === undefined && !isFinished(pod),
    );
    for (let missing = Number(set.spec?.['replicas'] ?? 0) - active.length; missing > 0; missing -= 1) {
      store.create('pods', newPod({ owner: set }));
    }
  }
}

/** The DaemonSet controller: one pod on each node with the labels that its template asks for, cordoned or not. */
function keepDaemons(store: Store): void {
  for (const set of store.list('daemonsets')) {
    const pods = ownedBy(store, set);
    for (const node of store.list('nodes')) {
      const here = pods.filter((pod) => nodeOf(pod) === node.metadata.name);
      const isWanted = fits(newPod({ owner: set }), node);
      if (isWanted && here.length === 0) store.create('pods', newPod({ owner: set, node: node.metadata.name }));
      if (isWanted) continue;
      for (const pod of here.filter(({ metadata }) => metadata.deletionTimestamp === undefined)) {
        deleteObject(store, 'pods', pod);
      }
    }
  }
}

/** The disruption controller. */
function keepBudgets(store: Store): void {
  for (const budget of store.list('poddisruptionbudgets')) {
    const { healthy, desired, expected } = budgetState(store, budget);
    const status = {
      currentHealthy: healthy,
      desiredHealthy: desired,
      disruptionsAllowed: Math.max(0, healthy - desired),
      expectedPods: expected,
    };
    if (!isDeepStrictEqual(budget.status, status)) store.replace('poddisruptionbudgets', { ...budget, status });
  }
}

/** The scheduler: the node with the fewest pods. */
function schedule(store: Store, runs: (node: string) => boolean): void {
  for (const pod of store.list('pods')) {
    if (nodeOf(pod) !== undefined || isFinished(pod)) continue;
    const load = (node: Resource): number =>
      store.list('pods').filter((each) => nodeOf(each) === node.metadata.name).length;
    const [node] = store
      .list('nodes')
      .filter(({ spec, metadata }) => spec?.['unschedulable'] !== true && runs(metadata.name))
      .filter((each) => conditionOf(each, 'Ready') === 'True' && fits(pod, each))
      .toSorted((a, b) => load(a) - load(b));
    if (node) store.replace('pods', { ...pod, spec: { ...pod.spec, nodeName: node.metadata.name } });
  }
}

function fits({ spec }: Pick<Resource, 'spec'>, node: Resource): boolean {
  const selector = (spec?.['nodeSelector'] ?? {}) as Readonly<Record<string, string>>;
  return Object.entries(selector).every(([key, value]) => node.metadata.labels?.[key] === value);
}

/** The pod garbage collector: what was on a node that is no more. */
function collectPods(store: Store, node: string): void {
  for (const pod of store.list('pods').filter((each) => nodeOf(each) === node)) {
    deleteObject(store, 'pods', pod, { gracePeriodSeconds: 0 });
  }
}

function renewLeases(store: Store, runs: (node: string) => boolean): void {
  for (const { metadata } of store.list('nodes')) if (runs(metadata.name)) renewLease(store, metadata.name);
}

function renewLease(store: Store, name: string): void {
  const namespace = 'kube-node-lease';
  const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: timestamp() };
  const lease = store.find('leases', name, namespace);
  if (lease) store.replace('leases', { ...lease, spec });
  else store.create('leases', { metadata: { name, namespace }, spec });
}
