import { chmod, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AnyAnswer } from '#conductor/cluster/etcd/etcd-client.ts';
import type { EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { readEtcdHealth } from '#conductor/cluster/etcd/etcd-health.ts';
import { lookAtCluster } from '#conductor/cluster/etcd/look-at-cluster.ts';
import { removeEtcdRound } from '#conductor/cluster/etcd/remove-etcd-round.ts';
import { endedRound } from '#test/support/ended-round.ts';
import { makeEtcdCertificates } from '#test/support/etcd-certificates.ts';
import {
  createEtcdRounds,
  type EtcdRounds,
  expectListed,
  inCluster,
  refusal,
  siteOf,
} from '#test/support/etcd-rounds.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Real clusters (Debian's etcd-server), by whom and how they let themselves be asked. */

let api: TestApi;
let rounds: EtcdRounds;
beforeAll(async () => {
  api = await openTestApi();
  rounds = createEtcdRounds(api);
});
afterAll(() => api.close());

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
      const href = 'deckhand+http://api.example/revisions/1/rendered-documents';
      const health = () => served.call('GET', `/etcd-cluster-health-statuses?design_ref=${href}`, undefined, '');
      // on a busy machine members this quick lose their leader at times, and the cluster is unhealthy until the next
      await expect
        .poll(async () => (await health()).body)
        .toMatchObject({
          kind: 'Status',
          reason: 'Success',
          code: 200,
          details: { messageList: [{ message: 'Healthy', name }] },
        });
      const body = { rel: 'design', href, type: 'application/x-yaml' };
      const removed = await served.call('POST', '/nodes/n2/remove-etcd?timeout=240', body, '');
      expect([removed.body['code'], removed.body['reason'], JSON.stringify(removed.body)]).toEqual([
        200,
        'Success',
        expect.stringContaining('member n2 removed from kubernetes'),
      ]);
      const refused = await served.call('POST', '/nodes/n3/remove-etcd', body, '');
      expect([refused.body['code'], refused.body['reason']]).toEqual([500, 'RemoveEtcdError']);
      await expectListed(cluster, ['n1', 'n3']);
    } finally {
      await served.close();
    }
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
    const removal = (more?: Partial<EtcdCluster>) => endedRound(() => rounds.removeFrom(cluster, 'n3', more));
    expect(await removal({ credential })).toContain(
      'refuses: etcdserver: authentication failed, invalid user ID or password',
    );
    expect(await removal()).toContain('refuses: etcdserver: user name not found');
    await set('right');
    expect(await removal({ credential, tls: 'kubernetes-named' })).toContain(
      'client.crt must have no CommonName where etcd asks for user and password',
    );
    expect(await removal({ credential })).toMatch(/^done: .*member n3 removed from kubernetes$/);
  });
});

test('a cluster of one; alarms; the wrong authority, certificate, protocol and files, each in its words', async () => {
  await inCluster(['n1'], async (cluster) => {
    const described = cluster.describe();
    const [url = ''] = described.endpoints;
    const health = (directory: string, more: Partial<EtcdCluster> = {}) =>
      readEtcdHealth(rounds.contextOf(directory), [{ ...described, ...more }]).then(([message]) =>
        [message?.message, ...(message?.causes ?? [])].join(': '),
      );
    await expect.poll(() => health(cluster.tlsDirectory)).toBe('Healthy');
    await expect
      .poll(() => health(cluster.tlsDirectory, { minimumMembers: 2 }))
      .toBe('Unhealthy: 1 healthy members, and minimum_members is 2');
    await cluster.client.post(
      url,
      '/v3/maintenance/alarm',
      { action: 'ACTIVATE', alarm: 'NOSPACE', memberID: (await lookAtCluster(cluster.client, described)).leader },
      AnyAnswer,
    );
    await expect.poll(() => health(cluster.tlsDirectory)).toBe('Unhealthy: alarm NOSPACE of n1');

    const other = await mkdtemp(join(tmpdir(), 'baton-etcd-tls-'));
    try {
      await makeEtcdCertificates(other, 'kubernetes', ['127.0.0.1']);
      expect(
        await refusal(removeEtcdRound(rounds.contextOf(other), { node: 'n1', site: siteOf(described) })),
      ).toContain(
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
