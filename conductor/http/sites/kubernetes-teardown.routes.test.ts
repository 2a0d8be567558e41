import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertFlow } from '#conductor/flows/log/flow-store.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { listHistory } from '#conductor/nodes/node-history.ts';
import { newBudget, newNode, newSet } from '#test/simulators/kubernetes/scene.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { addAvailableNode } from '#test/support/available-node.ts';
import { type ApiAnswer, openTestApi, type TestApi } from '#test/support/test-api.ts';

let small: SmallCluster;
let api: TestApi;
let bare: TestApi;

beforeAll(async () => {
  small = await startSmallCluster();
  api = await openTestApi({ settings: { BATON_KUBECONFIG: small.kubeconfigFile } });
  bare = await openTestApi();
});
afterAll(async () => {
  await Promise.all([api.close(), bare.close()]);
  await small.close();
});
beforeEach(() => {
  const { store } = small.simulator;
  small.simulator.clearFaults();
  for (const plural of ['replicasets', 'daemonsets', 'poddisruptionbudgets', 'pods', 'nodes']) {
    for (const object of store.list(plural)) store.remove(plural, object);
  }
  for (const name of ['n1', 'n2']) {
    small.simulator.world.startKubelet(name);
    store.create('nodes', newNode(name, { rack: 'r1', 'node-role.kubernetes.io/worker': '' }));
  }
});

interface Message {
  readonly message: string;
  readonly error: boolean;
  readonly kind: string;
  readonly name?: string;
}

/** The Status object of a request, taken apart. */
async function post(path: string, test: TestApi = api) {
  const answer: ApiAnswer = await test.call('POST', path);
  const details = answer.body['details'] as { readonly errorCount: number; readonly messageList: Message[] };
  return { ...answer, details, reason: answer.body['reason'], text: String(answer.body['message']) };
}

describe('drain', () => {
  test('answers a Status object under both paths', async () => {
    for (const path of ['/nodes/n1/drain', '/v1/nodes/n1/drain', '/api/v1.0/nodes/n1/drain']) {
      const { status, body } = await post(`${path}?timeout=10&grace-period=1`);
      expect(body).toMatchObject({
        kind: 'Status',
        apiVersion: 'v1.0',
        metadata: {},
        status: 'Success',
        message: 'Node n1 is drained',
        reason: 'Success',
        details: { errorCount: 0 },
        code: 200,
      });
      expect(status).toBe(200);
    }
    expect(small.node('n1')?.spec).toMatchObject({ unschedulable: true });
  });

  test.each([
    ['?timeout=10&grace-period=10', /less than the timeout/],
    ['?timeout=10&grace-period=11', /less than the timeout/],
    ['?timeout=600&grace-period=1800', /less than the timeout/],
    ['?timeout=1', /less than the timeout/],
    ['?timeout=0', /whole number of seconds/],
    ['?timeout=1.5', /whole number of seconds/],
    ['?timeout=-1', /whole number of seconds/],
    ['?grace-period=x', /whole number of seconds/],
    ['?grace=1', /Unexpected arguments: grace/],
  ])('%s is a bad request', async (query, text) => {
    const answer = await post(`/nodes/n1/drain${query}`);
    expect([answer.status, answer.reason]).toEqual([400, 'BadRequest']);
    expect(answer.text).toMatch(text);
    expect(small.node('n1')?.spec?.['unschedulable']).toBeUndefined();
  });

  test('a rehearsal says which pods would go, be lost or wait, and touches nothing', async () => {
    await small.addSet('web', 2);
    small.simulator.store.create('poddisruptionbudgets', newBudget('web-budget', 'web', 2));
    small.addPod({ name: 'alone', node: 'n1' });
    await small.settle();
    const pods = small.podsOn('n1').map(({ metadata }) => metadata.name);
    const web = pods.find((name) => name.startsWith('web'));
    const { status, text, details } = await post('/nodes/n1/drain?dry-run=true');
    expect([status, text]).toEqual([
      200,
      'Node n1: a drain would evict 2 pods, of which 1 wait for their budgets now; nothing was touched',
    ]);
    expect(details.messageList.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        'Node n1 would be cordoned',
        `Pod default/${web} would be evicted`,
        'Pod default/alone would go for good: no controller replaces it',
        expect.stringMatching(
          /^Pod default\/web.* would wait: PodDisruptionBudget default\/web-budget allows 0 at a time/,
        ),
      ]),
    );
    expect(small.node('n1')?.spec?.['unschedulable']).toBeUndefined();
    expect(small.podsOn('n1').map(({ metadata }) => metadata.name)).toEqual(pods);
    const gone = small.node('n2');
    if (gone) small.simulator.store.remove('nodes', gone);
    const last = await post('/nodes/n1/drain?dry-run=true');
    expect(last.details.messageList.filter(({ error }) => error).map(({ message }) => message)).toContain(
      'The drain would be refused: it is the last Ready node of its cluster; force takes it out all the same',
    );
    expect((await post('/nodes/n9/drain?dry-run=true')).status).toBe(404);
  });

  test('names the pod and the budget that stood in the way', async () => {
    await small.addSet('web', 2);
    small.simulator.store.create('poddisruptionbudgets', newBudget('web-budget', 'web', 2));
    const [pod] = small.podsOn('n1');
    const { status, reason, details } = await post('/nodes/n1/drain?timeout=1&grace-period=0');
    expect([status, reason]).toEqual([500, 'DrainNodeError']);
    expect(details.errorCount).toBeGreaterThan(0);
    expect(details.messageList.filter(({ error }) => error)).toEqual(
      expect.arrayContaining([
        {
          summarized: true,
          kind: 'Pod',
          name: `default/${pod?.metadata.name}`,
          error: true,
          message: expect.stringContaining('PodDisruptionBudget default/web-budget') as string,
        },
      ]),
    );
  });

  test('of an API server that does not let the conductor in says so at once', async () => {
    small.simulator.inject({
      path: /nodes\/n1$/,
      status: 403,
      body: { kind: 'Status', message: 'no, user "baton"' },
      times: 2,
    });
    const { status, reason, text } = await post('/nodes/n1/drain');
    expect([status, reason]).toEqual([500, 'DrainNodeError']);
    expect(text).toContain('HTTP 403: no, user "baton"');
  });
});

test.each(['drain', 'clear-labels', 'restore-labels', 'shutdown-kubelet', 'remove-from-cluster'])(
  '%s: an unknown node is not found; without a kubeconfig it says what to set',
  async (verb) => {
    const { status, reason } = await post(`/nodes/n9/${verb}`);
    expect([status, reason]).toEqual([404, 'NotFound']);
    const unset = await post(`/nodes/n9/${verb}`, bare);
    expect([unset.status, unset.text]).toEqual([500, expect.stringContaining('set BATON_KUBECONFIG')]);
  },
);

test('a node that a flow of a teardown works on is left to it', async () => {
  const { db } = api.context;
  const nodeUuid = await addAvailableNode(db, 'n1');
  const flow = await db.transaction((tx) => insertFlow(tx, { nodeUuid, kind: 'decommission', steps: [] }));
  for (const verb of ['drain', 'clear-labels', 'restore-labels', 'shutdown-kubelet', 'remove-from-cluster']) {
    const { status, text } = await post(`/nodes/n1/${verb}`);
    expect([status, text]).toEqual([
      409,
      expect.stringContaining(
        `'${verb}' is not possible on node n1 while its decommission is under way (flow ${flow})`,
      ),
    ]);
  }
  await db.delete(nodes).where(eq(nodes.uuid, nodeUuid));
});

describe('clear-labels', () => {
  test('takes away what was added, and waits for the pods of daemon sets that needed it', async () => {
    const { store } = small.simulator;
    store.create('daemonsets', newSet('agents', { nodeSelector: { rack: 'r1' } }));
    store.create('daemonsets', newSet('everywhere'));
    await expect.poll(() => small.podsOn('n1').length).toBe(2);
    await small.settle();
    small.simulator.inject({ path: /nodes\/n1$/, method: 'PATCH', status: 409 });
    const { status } = await post('/nodes/n1/clear-labels?timeout=10');
    expect(status).toBe(200);
    expect(Object.keys(small.node('n1')?.metadata.labels ?? {})).toEqual([
      'kubernetes.io/hostname',
      'kubernetes.io/os',
      'kubernetes.io/arch',
      'beta.kubernetes.io/os',
    ]);
    expect(small.podsOn('n1').map(({ metadata }) => metadata.labels?.['app'])).toEqual(['everywhere']);
    expect(Object.keys(small.node('n2')?.metadata.labels ?? {})).toContain('rack');
  });

  test('names the pods that do not settle', async () => {
    small.addPod({ name: 'held', node: 'n1', finalizers: ['example.org/hold'] });
    await small.settle();
    const pod = small.simulator.store.get('pods', 'held');
    small.simulator.store.replace('pods', {
      ...pod,
      metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 },
    });
    const { status, reason, details } = await post('/nodes/n1/clear-labels?timeout=1');
    expect([status, reason]).toEqual([500, 'ClearLabelsError']);
    expect(details.messageList.map(({ message }) => message)).toContain(
      'Pod default/held is ending, held by its finalizers example.org/hold',
    );
  });
});

test('what all looks have taken is told, and restore-labels puts it back', async () => {
  const before = small.node('n1')?.metadata.labels;
  const { store } = small.simulator;
  store.create('poddisruptionbudgets', newBudget('guard', 'bare', 1));
  small.addPod({ name: 'bare', node: 'n1', labels: { app: 'bare' } });
  small.addPod({ name: 'gone', node: 'n1' });
  await small.settle();
  const drained = await post('/nodes/n1/drain?timeout=2&grace-period=0');
  const reported = drained.details.messageList.map(({ message }) => message);
  expect(reported).toContain('Node n1 is cordoned');
  expect(reported).toContain('Pod default/gone goes for good: no controller replaces it');
  expect(reported.join()).not.toMatch(/bare goes for good|cordoned already/);
  const cleared = await post('/nodes/n1/clear-labels?timeout=10');
  expect(cleared.details.messageList.map(({ message }) => message)).toEqual([
    'Label rack=r1 is taken from node n1',
    'Label node-role.kubernetes.io/worker= is taken from node n1',
    'Node n1 has no labels that were added',
  ]);
  expect(await post('/nodes/n1/restore-labels')).toMatchObject({ status: 200 });
  expect(small.node('n1')).toMatchObject({ metadata: { labels: before }, spec: {} });
  expect(small.node('n1')?.spec).not.toHaveProperty('unschedulable');
  expect(small.node('n1')?.metadata.annotations ?? {}).toEqual({});
});

describe('shutdown-kubelet', () => {
  test('labels the node, upon which the daemon set stops it', async () => {
    const { status, text } = await post(
      '/nodes/n1/shutdown-kubelet?timeout=10&apply-daemon-set=true&daemon-set-image=tools:1',
    );
    expect([status, text]).toEqual([200, expect.stringContaining('Kubelet of node n1 is silent')]);
    expect(small.node('n1')?.metadata.labels).toMatchObject({ 'promenade-decomission': 'enabled' });
    expect(JSON.stringify(small.simulator.store.list('daemonsets'))).toContain('"image":"tools:1"');
    expect(small.simulator.world.isRunning('n2')).toBe(true);
    // again, with the daemon set there: nothing is in its way
    expect(await post('/nodes/n1/shutdown-kubelet?timeout=10&apply-daemon-set=true')).toMatchObject({ status: 200 });
  });

  test('a kubelet that goes on is a failure after its time', async () => {
    const { status, reason, text } = await post('/nodes/n1/shutdown-kubelet?timeout=1');
    expect([status, reason]).toEqual([500, 'ShutdownKubeletError']);
    expect(text).toContain('Kubelet of node n1 still reports');
  });
});

describe('remove-from-cluster', () => {
  test('lists everything that stands in the way', async () => {
    small.addPod({ name: 'web', node: 'n1' });
    const { status, reason, details } = await post('/nodes/n1/remove-from-cluster');
    expect([status, reason]).toEqual([409, 'Conflict']);
    expect(details.messageList.map(({ message }) => message)).toEqual([
      'Node n1 is not cordoned',
      'Pod default/web is on it',
      'Label rack=r1 is on it',
      'Label node-role.kubernetes.io/worker= is on it',
    ]);
    expect(small.node('n1')).toBeDefined();
  });

  test('ends what the others have begun, and a repeat finds nothing', async () => {
    small.simulator.store.create('daemonsets', newSet('everywhere'));
    for (const verb of ['drain?timeout=10&grace-period=1', 'clear-labels', 'shutdown-kubelet?apply-daemon-set=1']) {
      expect(await post(`/nodes/n1/${verb}`)).toMatchObject({ status: 200 });
    }
    expect(await post('/nodes/n1/remove-from-cluster')).toMatchObject({
      status: 200,
      text: 'Node n1 is removed from the cluster',
    });
    expect(small.node('n1')).toBeUndefined();
    expect(await post('/nodes/n1/remove-from-cluster')).toMatchObject({ status: 404 });
  });

  test('an answer that is lost, or a change in between, is looked at again', async () => {
    const { store } = small.simulator;
    const node = store.get('nodes', 'n1');
    store.replace('nodes', { ...node, metadata: { ...node.metadata, labels: {} }, spec: { unschedulable: true } });
    small.simulator.inject({ path: /nodes\/n1$/, method: 'DELETE', status: 409 });
    small.simulator.inject({ path: /nodes\/n1$/, method: 'DELETE', dropAnswer: true });
    expect(await post('/nodes/n1/remove-from-cluster')).toMatchObject({ status: 200 });
    expect(small.node('n1')).toBeUndefined();
  });
});

test("what is done by hand is in the node's history, also when it fails", async () => {
  const { store } = small.simulator;
  const nodeUuid = await addAvailableNode(api.context.db, 'n1');
  for (const name of ['free', 'kept']) small.addPod({ name, node: 'n1', labels: { app: name } });
  small.simulator.store.create('poddisruptionbudgets', newBudget('kept', 'kept', 1));
  await small.settle();
  expect((await post('/nodes/n1/drain?timeout=2&grace-period=1')).status).toBe(500);
  for (const budget of store.list('poddisruptionbudgets')) store.remove('poddisruptionbudgets', budget);
  expect((await post('/nodes/n1/clear-labels?timeout=10&force=true')).status).toBe(200);
  const history = await listHistory(api.context.db, nodeUuid);
  expect(history.flatMap(({ event }) => (event.includes('by hand') ? [event] : [])).toReversed()).toEqual([
    'drain by hand: Node n1 is cordoned: started',
    'drain by hand: Node n1 is cordoned',
    expect.stringMatching(
      /^drain by hand: (Pod default\/(free goes for good: no controller replaces it|kept goes for good: no controller replaces it: this was refused, and may be asked for again)(; )?){2}$/,
    ),
    'clear-labels by hand: Label rack=r1 is taken from node n1: started; Label node-role.kubernetes.io/worker= is taken from node n1: started',
    'clear-labels by hand: Label rack=r1 is taken from node n1; Label node-role.kubernetes.io/worker= is taken from node n1',
  ]);
});

test('what the API server has refused is not claimed by the history', async () => {
  const nodeUuid = await addAvailableNode(api.context.db, 'n2');
  small.simulator.inject({ method: 'PATCH', path: /nodes\/n2$/, status: 403, times: 99 });
  for (const verb of ['drain', 'clear-labels']) {
    expect(
      (await post(`/nodes/n2/${verb}?timeout=10&force=true${verb === 'drain' ? '&grace-period=1' : ''}`)).status,
    ).toBe(500);
  }
  const history = await listHistory(api.context.db, nodeUuid);
  const byHand = history.flatMap(({ event }) => (event.includes('by hand') ? [event] : [])).toReversed();
  const labels = ['rack=r1', 'node-role.kubernetes.io/worker='];
  const of = (result: string) => labels.map((label) => `Label ${label} is taken from node n2: ${result}`).join('; ');
  expect(byHand).toEqual([
    'drain by hand: Node n2 is cordoned: started',
    'drain by hand: Node n2 is cordoned: this was refused',
    `clear-labels by hand: ${of('started')}`,
    `clear-labels by hand: ${of('this was refused')}`,
  ]);
});
