import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { afterLook, readReport, withRecordedChanges } from '#conductor/cluster/cluster-changes.ts';
import { drainNode } from '#conductor/cluster/kubernetes/drain-node.ts';
import { repeatRounds } from '#conductor/cluster/repeat-rounds.ts';
import { newBudget, newNode, newSet } from '#test/simulators/kubernetes/scene.ts';
import { stopSeconds } from '#test/simulators/kubernetes/world.ts';
import { type OpenedCluster, openSmallCluster } from '#test/support/open-small-cluster.ts';

let small: OpenedCluster;

beforeEach(async () => {
  small = await openSmallCluster();
});
afterEach(() => small.close());

const never = new AbortController().signal;

function drain(options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {}) {
  return repeatRounds((signal) => drainNode(small.cluster, 'n1', { gracePeriodSeconds: 1 }, signal), {
    what: 'drain of node n1',
    timeoutMs: 240_000,
    everyMs: 300,
    signal: never,
    ...options,
  });
}

/** One round, and what it tells. */
async function look(): Promise<string> {
  const { messages } = await drainNode(small.cluster, 'n1', { gracePeriodSeconds: 1 }, never);
  return messages.map(({ message }) => message).join('\n');
}

test('an empty node is cordoned, and drained', async () => {
  await drain();
  expect(small.node('n1')?.spec).toMatchObject({ unschedulable: true });
  expect(small.node('n2')?.spec?.['unschedulable']).toBeUndefined();
});

test('managed, unmanaged, finished pods and those with local data go, others stay', async () => {
  const { store } = small.simulator;
  const set = store.create('daemonsets', newSet('agents'));
  small.addPod({ name: 'bare', node: 'n1' });
  small.addPod({ name: 'over', node: 'n1', phase: 'Succeeded' });
  small.addPod({ name: 'static', node: 'n1', annotations: { 'kubernetes.io/config.mirror': 'x' } });
  await small.addSet('web', 4);
  small.addPod({ name: 'data', node: 'n1', hasLocalData: true, owner: store.create('replicasets', newSet('db')) });
  await small.settle();
  const messages = await drain();
  expect(small.podsOn('n1').map(({ metadata }) => metadata.name)).toEqual(
    expect.arrayContaining(['static', expect.stringMatching(/^agents-/)]),
  );
  expect(small.podsOn('n1')).toHaveLength(2);
  expect(messages.filter(({ error }) => error)).toEqual([]);
  await small.settle();
  expect(small.podsOn('n2').filter(({ metadata }) => metadata.labels?.['app'] === 'web')).toHaveLength(4);
  expect(set.metadata.name).toBe('agents');
});

test('pods whose daemon set is gone go, too', async () => {
  const { store } = small.simulator;
  const set = store.create('daemonsets', newSet('orphans', { nodeSelector: { none: 'such' } }));
  store.remove('daemonsets', set);
  small.addPod({ name: 'orphan', node: 'n1', owner: set });
  await small.settle();
  await drain();
  expect(small.podsOn('n1')).toEqual([]);
});

describe('a budget', () => {
  test('is waited for', async () => {
    const { store } = small.simulator;
    store.replace('nodes', { ...store.get('nodes', 'n2'), spec: { unschedulable: true } });
    await small.addSet('web', 2);
    const budget = store.create('poddisruptionbudgets', newBudget('web', 'web', 2));
    const drained = drain();
    await expect
      .poll(() => small.simulator.requests.filter(({ path }) => path.endsWith('/eviction')).length)
      .toBeGreaterThan(1);
    expect(small.podsOn('n1')).toHaveLength(2);
    store.remove('poddisruptionbudgets', budget);
    await drained;
    expect(small.podsOn('n1')).toEqual([]);
  });

  test('that forbids it until the end is named, and so is the pod', async () => {
    await small.addSet('web', 2);
    small.simulator.store.create('poddisruptionbudgets', newBudget('web-budget', 'web', 2));
    const [pod] = small.podsOn('n1');
    await expect(drain({ timeoutMs: 900 })).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('drain of node n1 has not ended within 0.9 s') as unknown,
    });
    expect(await look()).toContain(
      `Pod default/${pod?.metadata.name} may not be evicted now: PodDisruptionBudget default/web-budget`,
    );
    expect(small.podsOn('n1')).toHaveLength(1);
  });
});

test('pods that hang, and what holds them, are named', async () => {
  small.addPod({ name: 'hanging', node: 'n1', annotations: { [stopSeconds]: 'never' } });
  small.addPod({ name: 'held', node: 'n1', finalizers: ['example.org/hold'] });
  await small.settle();
  await look();
  const text = await look();
  expect(text).toMatch(/Pod default\/hanging is ending, due \S+ with 1 s of grace/);
  expect(text).toMatch(/Pod default\/held is ending.*held by its finalizers example\.org\/hold/);
});

test('a kubelet that is silent is named as the reason', async () => {
  small.addPod({ name: 'web', node: 'n1' });
  await small.settle();
  small.simulator.world.stopKubelet('n1');
  await expect.poll(() => small.node('n1')?.status).toMatchObject({ conditions: [{ status: 'Unknown' }] });
  await look();
  expect(await look()).toContain('the kubelet of node n1, which would confirm its end, does not report');
});

test('a pod of the same name that is another one is drained as well', async () => {
  small.addPod({ name: 'db-0', node: 'n1' });
  await small.settle();
  const stop = small.simulator.store.subscribe(({ type, object }) => {
    if (type !== 'DELETED' || object.metadata.name !== 'db-0') return;
    stop();
    small.addPod({ name: 'db-0', node: 'n1' });
  });
  await drain();
  expect(small.podsOn('n1')).toEqual([]);
});

test('a server that is away for a while, slow, or out of sorts costs nothing but time', async () => {
  const { simulator } = small;
  await small.addSet('web', 2);
  simulator.inject({ path: /eviction$/, status: 500, times: 1 });
  simulator.inject({ path: /eviction$/, dropAnswer: true, times: 1 });
  simulator.inject({ path: /nodes\/n1$/, method: 'PATCH', status: 409, times: 1 });
  simulator.goDown();
  setTimeout(() => simulator.comeBack(), 700);
  await drain();
  expect(small.podsOn('n1')).toEqual([]);
});

test('one that stays away is the reason of the timeout', async () => {
  small.simulator.goDown();
  await expect(drain({ timeoutMs: 2_000 })).rejects.toMatchObject({
    code: 'timeout',
    details: {
      messages: [
        {
          message: expect.stringContaining(
            `GET /api/v1/nodes/n1 at the Kubernetes API server ${small.simulator.server}`,
          ) as unknown,
        },
      ],
    },
  });
});

test('an old cluster has evictions of policy/v1beta1', async () => {
  const old = await openSmallCluster({ eviction: 'v1beta1' });
  old.addPod({ name: 'web', node: 'n1' });
  await old.settle();
  await repeatRounds((signal) => drainNode(old.cluster, 'n1', { gracePeriodSeconds: 0 }, signal), {
    what: 'drain',
    timeoutMs: 240_000,
    everyMs: 100,
    signal: never,
  });
  expect(old.simulator.requests.find(({ path }) => path.endsWith('/eviction'))?.body).toContain('policy/v1beta1');
  await old.close();
});

test('more pods than a page holds are all seen', async () => {
  small.simulator.store.create('nodes', newNode('n3'));
  for (let index = 0; index < 510; index += 1) small.addPod({ name: `p${index}`, node: 'n1', phase: 'Running' });
  await drain();
  expect(small.podsOn('n1')).toEqual([]);
});

test('a node that the cluster has not is not found', async () => {
  for (const name of ['n9', '../pods']) {
    await expect(drainNode(small.cluster, name, { gracePeriodSeconds: 0 }, never)).rejects.toMatchObject({
      code: 'not_found',
    });
  }
});

test('the caller may leave: no further round begins, and a repeat ends it', async () => {
  small.addPod({ name: 'slow', node: 'n1', annotations: { [stopSeconds]: '1' } });
  await small.settle();
  const leaving = new AbortController();
  const stop = small.simulator.store.subscribe(({ object }) => {
    if (object.metadata.deletionTimestamp === undefined) return;
    stop();
    leaving.abort(new Error('the client hung up'));
  });
  await expect(drain({ signal: leaving.signal })).rejects.toMatchObject({ code: 'aborted' });
  await drain();
  expect(small.podsOn('n1')).toEqual([]);
});

test('under a tight budget few are asked in vain, and the others are named', async () => {
  const { simulator } = small;
  simulator.store.replace('nodes', { ...simulator.store.get('nodes', 'n2'), spec: { unschedulable: true } });
  await small.addSet('web', 20);
  simulator.store.create('poddisruptionbudgets', newBudget('web', 'web', 19));
  await small.settle();
  const text = await look();
  expect(simulator.requests.filter(({ path }) => path.endsWith('/eviction'))).toHaveLength(2);
  expect(text.match(/may not be evicted now/g)).toHaveLength(1);
  expect(text.match(/waits: the budget of pod default\/web-\w+ forbids it, too/g)).toHaveLength(18);
});

test('a right that is missing ends it at once, and nothing counts as evicted; what forbids it for now does not', async () => {
  await small.addSet('web', 8);
  small.simulator.inject({ method: 'POST', path: /eviction$/, status: 403, times: 2 });
  const { state } = await drainNode(small.cluster, 'n1', { gracePeriodSeconds: 1 }, never);
  expect(state).toBe('waiting');
  await small.settle();
  small.simulator.access.deny({ right: 'create pods/eviction' });
  small.addPod({ name: 'bare', node: 'n1' });
  await small.settle();
  await expect(drain()).rejects.toMatchObject({
    code: 'forbidden',
    message: expect.stringContaining('may not create pods/eviction in namespace default') as unknown,
  });
  const failed = await drain().catch((error: unknown) => error);
  expect(JSON.stringify(failed)).not.toContain('goes for good');
});

test('a pod that was gone, or another, before its eviction was accepted is not counted as evicted', async () => {
  const changes: string[] = [];
  for (const status of [404, 409]) {
    small.addPod({ name: 'bare', node: 'n1' });
    await small.settle();
    const details = { kind: 'pods', name: 'bare' };
    const body = { kind: 'Status', status: 'Failure', reason: status === 404 ? 'NotFound' : 'Conflict', details };
    small.simulator.inject({ method: 'POST', path: /eviction$/, status, body });
    let report = readReport(undefined);
    const round = await drainNode(
      small.cluster,
      'n1',
      {
        gracePeriodSeconds: 0,
        announce: (news, outcome) => {
          report = withRecordedChanges(report, news, outcome);
          return Promise.resolve();
        },
      },
      never,
    );
    expect(round.state).toBe('waiting');
    expect(round.messages.filter(({ error }) => error)).toEqual([]);
    changes.push(...afterLook(report, round).deeds.map(({ kind, name }) => `${kind} ${name}`));
    small.simulator.store.remove('pods', small.simulator.store.get('pods', 'bare'));
  }
  expect(changes).toEqual(['cordon n1']);
});
