import { chmod, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EtcdCluster, Site, SiteNode } from '#conductor/sites/site.ts';
import { AnyAnswer } from '#conductor/teardown/etcd/etcd-answers.ts';
import { readEtcdHealth } from '#conductor/teardown/etcd/etcd-health.ts';
import { etcdStableRound } from '#conductor/teardown/etcd/etcd-stable-round.ts';
import { lookAtCluster } from '#conductor/teardown/etcd/look-at-cluster.ts';
import type { EtcdContext } from '#conductor/teardown/etcd/open-cluster.ts';
import { removeEtcdRound } from '#conductor/teardown/etcd/remove-etcd-round.ts';
import type { Round } from '#conductor/teardown/round.ts';
import { systemClock } from '#shared/clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type EtcdTestCluster, startEtcd } from '#test/support/etcd.ts';
import { makeEtcdCertificates } from '#test/support/etcd-certificates.ts';
import { startEtcdWriter } from '#test/support/etcd-writer.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Real clusters (Debian's etcd-server); etcdctl says what became of them. */

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const limits = { connectMs: 1000, askMs: 1500, actMs: 5000 };

function contextOf(tlsDirectory: string): EtcdContext {
  const { db, secrets, log, database } = api.context;
  return {
    db,
    secrets,
    log,
    database,
    clock: systemClock,
    config: { etcdTlsDirectory: tlsDirectory },
    etcdLimits: limits,
  };
}

function siteOf(...clusters: EtcdCluster[]): Pick<Site, 'nodes' | 'etcdClusters'> {
  const names = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'];
  return { nodes: new Map(names.map((name) => [name, { name } as SiteNode])), etcdClusters: clusters };
}

async function inCluster(names: readonly string[], work: (cluster: EtcdTestCluster) => Promise<void>, strict = false) {
  const cluster = await startEtcd(names, { strictReconfigCheck: strict });
  try {
    await work(cluster);
  } finally {
    await cluster.close();
  }
}

function removeFrom(cluster: EtcdTestCluster, node: string, more: Partial<EtcdCluster> = {}): Promise<Round> {
  return removeEtcdRound(contextOf(cluster.tlsDirectory), { node, site: siteOf(cluster.describe(more)) });
}

function stable(cluster: EtcdTestCluster, node: string, more: Partial<EtcdCluster> = {}): Promise<Round> {
  return etcdStableRound(contextOf(cluster.tlsDirectory), { node, site: siteOf(cluster.describe(more)) });
}

/** A round's state and words, in one line. */
function told(round: Round): string {
  return `${round.state}: ${round.messages.map(({ message }) => message).join(' | ')}`;
}

/** What was thrown, in one line. */
async function refusal(round: Promise<Round>): Promise<string> {
  return round.then(told, errorChain);
}

/** Names that etcdctl lists, in order. */
async function listed(cluster: EtcdTestCluster): Promise<string[]> {
  const { members } = JSON.parse(await cluster.etcdctl('member', 'list', '-w', 'json')) as {
    members: { name?: string }[];
  };
  return members.map(({ name = '' }) => name).toSorted();
}

test('a follower leaves; repeated it is done; the cluster is stable and writes go on', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    const writer = startEtcdWriter(cluster);
    await cluster.moveLeader('n2');
    expect(told(await removeFrom(cluster, 'n1', { minimumMembers: 2 }))).toBe(
      'done: member n1 removed from kubernetes',
    );
    expect(await listed(cluster)).toEqual(['n2', 'n3']);
    // it ends by itself
    await cluster.member('n1').exited;
    expect(told(await removeFrom(cluster, 'n1', { minimumMembers: 2 }))).toBe(
      'done: no member of kubernetes runs on n1',
    );
    expect(told(await stable(cluster, 'n1', { minimumMembers: 2 }))).toBe('done: Healthy');
    await cluster.kill('n1');
    expect((await writer.stop()).lost).toEqual([]);
    expect(await refusal(removeFrom(cluster, 'n2', { minimumMembers: 2 }))).toBe(
      "etcd can't be removed from n2: etcd cluster kubernetes: 1 voting member would be left, and minimum_members is 2",
    );
    expect(told(await removeFrom(cluster, 'n2'))).toMatch(/member n2 removed from kubernetes$/);
    expect(await refusal(removeFrom(cluster, 'n3'))).toBe(
      "etcd can't be removed from n3: etcd cluster kubernetes: removing member n3 would leave the cluster without members",
    );
    expect(await listed(cluster)).toEqual(['n3']);
  });
});

test('the leader hands over before it leaves', async () => {
  await inCluster(['n1', 'n2', 'n3', 'n4', 'n5'], async (cluster) => {
    const writer = startEtcdWriter(cluster);
    await cluster.moveLeader('n3');
    expect(await cluster.leader()).toBe('n3');
    expect(told(await removeFrom(cluster, 'n3'))).toMatch(
      /^done: leader of kubernetes moved from n3 to n\d \| member n3 removed from kubernetes$/,
    );
    expect(await listed(cluster)).toEqual(['n1', 'n2', 'n4', 'n5']);
    await cluster.kill('n3');
    const report = await writer.stop();
    expect(report.lost).toEqual([]);
    expect(report.acknowledged).toBeGreaterThan(10);
  });
});

test('a member that was killed: it may leave, no other may; then the cluster is well without it', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    const described = cluster.describe({ minimumMembers: 2 });
    await cluster.kill('n1');
    await cluster.leader();
    const refused = await removeFrom(cluster, 'n2', described);
    expect(told(refused)).toBe(
      'waiting: etcd cluster kubernetes: 1 healthy of 2 voting members would be left, and its quorum would be 2 (n1 is unreachable)',
    );
    const context = contextOf(cluster.tlsDirectory);
    expect(await readEtcdHealth(context, [described])).toMatchObject([
      { message: 'Unhealthy', error: false, name: 'kubernetes' },
    ]);
    expect((await stable(cluster, 'n1', described)).state).toBe('done');
    expect((await stable(cluster, 'n2', described)).state).toBe('waiting');
    expect(told(await removeFrom(cluster, 'n1', described))).toBe('done: member n1 removed from kubernetes');
    expect(await readEtcdHealth(context, [described])).toMatchObject([{ message: 'Healthy', error: false }]);
  });
});

test('a member that is cut off from the others, though it answers here', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    await cluster.moveLeader('n1');
    await cluster.leader();
    cluster.member('n1').cut();
    await cluster.waitHealthy(['n2', 'n3']);
    await waitUntil(
      'n1 to notice',
      async () => !(await cluster.client.isHealthy(cluster.member('n1').url)) || undefined,
      { timeoutMs: 10_000, everyMs: 50 },
    );
    expect(told(await removeFrom(cluster, 'n2'))).toContain('(n1 is unhealthy)');
    expect(told(await removeFrom(cluster, 'n1'))).toBe('done: member n1 removed from kubernetes');
    // what it says of its cluster is old, and not asked for
    expect(told(await removeFrom(cluster, 'n1'))).toBe('done: no member of kubernetes runs on n1');
    await cluster.kill('n1');
    expect(await listed(cluster)).toEqual(['n2', 'n3']);
  });
});

test('a member that answers nobody; without a quorum nothing is done, and with it again the same round goes on', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    cluster.member('n2').pause();
    cluster.member('n3').pause();
    expect((await removeFrom(cluster, 'n1')).state).toBe('waiting');
    expect(told(await stable(cluster, 'n1'))).toContain('voting members are no quorum');
    cluster.member('n3').resume();
    await cluster.waitHealthy(['n1', 'n3']);
    await waitUntil('n2 to be removed', async () => (await removeFrom(cluster, 'n2')).state === 'done' || undefined, {
      timeoutMs: 10_000,
    });
    await cluster.kill('n2');
    expect(await listed(cluster)).toEqual(['n1', 'n3']);
  });
});

test('over HTTP, by the documents of a revision', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    const settings = { BATON_ETCD_TLS_DIR: cluster.tlsDirectory };
    const served = await openTestApi({ settings });
    try {
      const { name, tls } = cluster.describe();
      // the other members are found by what they advertise
      const data = { clusters: [{ name, endpoints: [cluster.member('n1').url], tls, minimum_members: 2 }] };
      const head = '---\nschema: promenade/EtcdClusters/v1\nmetadata: {schema: metadata/Document/v1, name: etcd}\n';
      const text = `${['n1', 'n2', 'n3'].map((each) => nodeDocument(each)).join('')}${head}data: ${JSON.stringify(data)}\n`;
      await served.call('POST', '/api/v1.0/configdocs/site', text, '', { 'Content-Type': 'application/x-yaml' });
      await served.call('POST', '/api/v1.0/commitconfigdocs', undefined, '');
      const href = 'deckhand+https://deckhand.example/revisions/1/rendered-documents';
      const health = await served.call('GET', `/etcd-cluster-health-statuses?design_ref=${href}`, undefined, '');
      expect(health.body).toMatchObject({
        kind: 'Status',
        reason: 'Success',
        code: 200,
        details: { messageList: [{ message: 'Healthy', name }] },
      });
      const body = { rel: 'design', href, type: 'application/x-yaml' };
      const removed = await served.call('POST', '/nodes/n2/remove-etcd?timeout=60', body, '');
      expect([removed.body['code'], removed.body['reason'], JSON.stringify(removed.body)]).toEqual([
        200,
        'Success',
        expect.stringContaining('member n2 removed from kubernetes'),
      ]);
      const refused = await served.call('POST', '/nodes/n3/remove-etcd', body, '');
      expect([refused.body['code'], refused.body['reason']]).toEqual([500, 'RemoveEtcdError']);
      expect(await listed(cluster)).toEqual(['n1', 'n3']);
    } finally {
      await served.close();
    }
  });
});

test('two removals at the same time take out one', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    const both = ['n1', 'n2'].map((node) => refusal(removeFrom(cluster, node, { minimumMembers: 2 })));
    const [one, other] = (await Promise.all(both)).toSorted();
    expect(one).toMatch(/^done: .*member n[12] removed from kubernetes$/);
    expect(other).toMatch(
      /another removal from it is under way|1 voting member would be left, and minimum_members is 2/,
    );
    expect(await listed(cluster)).toHaveLength(2);
  });
});

test('user and password', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    await cluster.etcdctl('user', 'add', 'root:right');
    await cluster.etcdctl('user', 'grant-role', 'root', 'root');
    await cluster.etcdctl('auth', 'enable');
    const credential = 'etcd-root';
    const set = (password: string) =>
      api.call('PUT', `/api/v1.0/credentials/${credential}`, { username: 'root', password }, '');
    await set('wrong');
    expect(await refusal(removeFrom(cluster, 'n3', { credential }))).toContain(
      'refuses: etcdserver: authentication failed, invalid user ID or password',
    );
    expect(await refusal(removeFrom(cluster, 'n3'))).toContain('refuses: etcdserver: user name not found');
    await set('right');
    expect(await refusal(removeFrom(cluster, 'n3', { credential, tls: 'kubernetes-named' }))).toContain(
      'client.crt must have no CommonName where etcd asks for user and password',
    );
    expect(told(await removeFrom(cluster, 'n3', { credential }))).toMatch(
      /^done: .*member n3 removed from kubernetes$/,
    );
  });
});

test('unstarted members and learners, found by the address in the document', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    await cluster.add('n4', { isStarted: false });
    await cluster.add('n5', { isLearner: true });
    await waitUntil('the learner', async () => (await listed(cluster)).includes('n5') || undefined, {
      timeoutMs: 10_000,
    });
    expect(await refusal(removeFrom(cluster, 'n4'))).toMatch(
      /nothing says on which node [0-9a-f]+ at https:\/\/192\.0\.2\.4:2380 runs: name it in the members/,
    );
    const members = [{ node: 'n4', address: '192.0.2.4' }];
    expect(told(await stable(cluster, 'n1', { members }))).toMatch(/at https:\/\/192\.0\.2\.4:2380 is unstarted/);
    expect(told(await removeFrom(cluster, 'n4', { members }))).toMatch(
      /^done: member [0-9a-f]+ at \S+ removed from kubernetes$/,
    );
    expect(told(await removeFrom(cluster, 'n5'))).toBe('done: member n5 removed from kubernetes');
    expect(await listed(cluster)).toEqual(['n1', 'n2', 'n3']);
  });
});

test("etcd's own guard is waited for", async () => {
  await inCluster(
    ['n1', 'n2', 'n3'],
    async (cluster) => {
      const first = await removeFrom(cluster, 'n3');
      expect(told(first)).toMatch(/^(done|waiting): .*(unhealthy cluster|removed from kubernetes)$/);
      await waitUntil('n3 to be removed', async () => (await removeFrom(cluster, 'n3')).state === 'done' || undefined, {
        timeoutMs: 20_000,
        everyMs: 300,
      });
      expect(await listed(cluster)).toEqual(['n1', 'n2']);
    },
    true,
  );
});

test('a cluster of one; alarms; the wrong authority, certificate, protocol and files, each in its words', async () => {
  await inCluster(['n1'], async (cluster) => {
    const described = cluster.describe();
    const [url = ''] = described.endpoints;
    const health = (directory: string, more: Partial<EtcdCluster> = {}) =>
      readEtcdHealth(contextOf(directory), [{ ...described, ...more }]).then(([message]) =>
        [message?.message, ...(message?.causes ?? [])].join(': '),
      );
    expect(await health(cluster.tlsDirectory)).toBe('Healthy');
    expect(await health(cluster.tlsDirectory, { minimumMembers: 2 })).toBe(
      'Unhealthy: 1 healthy members, and minimum_members is 2',
    );
    await cluster.client.post(
      url,
      '/v3/maintenance/alarm',
      { action: 'ACTIVATE', alarm: 'NOSPACE', memberID: (await lookAtCluster(cluster.client, described)).leader },
      AnyAnswer,
    );
    expect(await health(cluster.tlsDirectory)).toBe('Unhealthy: alarm NOSPACE of n1');

    const other = await mkdtemp(join(tmpdir(), 'baton-etcd-tls-'));
    try {
      await makeEtcdCertificates(other, 'kubernetes', ['127.0.0.1']);
      expect(await refusal(removeEtcdRound(contextOf(other), { node: 'n1', site: siteOf(described) }))).toContain(
        `none of the endpoints of etcd cluster kubernetes can be asked: ${url}: its certificate does not fit ca.crt of the cluster's tls`,
      );
      await cp(join(cluster.tlsDirectory, 'kubernetes/ca.crt'), join(other, 'kubernetes/ca.crt'));
      expect(await health(other)).toContain(`${url} does not take client.crt of the cluster's tls`);
      await chmod(join(other, 'kubernetes/client.key'), 0o644);
      expect(await health(other)).toContain('client.key is open to others (mode 0644)');
      expect(await health(join(other, 'nowhere'))).toContain(
        'nowhere/kubernetes/ca.crt for TLS with etcd (BATON_ETCD_TLS_DIR)',
      );
      expect(await health(cluster.tlsDirectory, { endpoints: ['https://127.0.0.1:1'] })).toContain(
        "Unable to access Etcd: none of the endpoints of etcd cluster kubernetes can be asked: https://127.0.0.1:1 can't be reached",
      );
    } finally {
      await rm(other, { recursive: true });
    }
  });
});
