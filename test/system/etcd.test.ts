import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { readEtcdHealth } from '#conductor/cluster/etcd/etcd-health.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { endedRound } from '#test/support/ended-round.ts';
import {
  createEtcdRounds,
  type EtcdRounds,
  expectListed,
  inCluster,
  listed,
  refusal,
  reported,
} from '#test/support/etcd-rounds.ts';
import { startEtcdWriter } from '#test/support/etcd-writer.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Real clusters (Debian's etcd-server); etcdctl says what became of them. */

let api: TestApi;
let rounds: EtcdRounds;
beforeAll(async () => {
  api = await openTestApi();
  rounds = createEtcdRounds(api);
});
afterAll(() => api.close());

test('a follower leaves; repeated it is done; the cluster is stable and writes go on', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    const writer = startEtcdWriter(cluster);
    await cluster.moveLeader('n2');
    const removal = (node: string, more?: Partial<EtcdCluster>) =>
      endedRound(() => rounds.removeFrom(cluster, node, more));
    expect(await removal('n1', { minimumMembers: 2 })).toBe('done: member n1 removed from kubernetes');
    await expectListed(cluster, ['n2', 'n3']);
    // it ends by itself
    await cluster.member('n1').exited;
    expect(await removal('n1', { minimumMembers: 2 })).toBe('done: no member of kubernetes runs on n1');
    expect(await endedRound(() => rounds.stable(cluster, 'n1', { minimumMembers: 2 }))).toBe('done: Healthy');
    await cluster.kill('n1');
    await writer.writes(5);
    expect((await writer.stop()).lost).toEqual([]);
    expect(await removal('n2', { minimumMembers: 2 })).toBe(
      "etcd can't be removed from n2: etcd cluster kubernetes: 1 voting member would be left, and minimum_members is 2",
    );
    expect(await removal('n2')).toMatch(/member n2 removed from kubernetes$/);
    expect(await removal('n3')).toBe(
      "etcd can't be removed from n3: etcd cluster kubernetes: removing member n3 would leave the cluster without members",
    );
    await expectListed(cluster, ['n3']);
  });
});

test('the leader hands over before it leaves', async () => {
  await inCluster(['n1', 'n2', 'n3', 'n4', 'n5'], async (cluster) => {
    const writer = startEtcdWriter(cluster);
    await writer.writes(5);
    await waitUntil('n3 to lead', async () => {
      await cluster.moveLeader('n3');
      return (await cluster.leader()) === 'n3' || undefined;
    });
    expect(await endedRound(() => rounds.removeFrom(cluster, 'n3'))).toMatch(
      /^done: leader of kubernetes moved from n3 to n\d \| member n3 removed from kubernetes$/,
    );
    await expectListed(cluster, ['n1', 'n2', 'n4', 'n5']);
    await cluster.kill('n3');
    await writer.writes(5);
    const report = await writer.stop();
    expect(report.lost).toEqual([]);
    expect(report.acknowledged).toBeGreaterThanOrEqual(10);
  });
});

test('a member that was killed: it may leave, no other may; then the cluster is well without it', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    const described = cluster.describe({ minimumMembers: 2 });
    await cluster.kill('n1');
    await cluster.leader();
    await expect
      .poll(async () => reported(await rounds.removeFrom(cluster, 'n2', described)))
      .toBe(
        'waiting: etcd cluster kubernetes: 1 healthy of 2 voting members would be left, and its quorum would be 2 (n1 is unreachable)',
      );
    const context = rounds.contextOf(cluster.tlsDirectory);
    expect(await readEtcdHealth(context, [described])).toMatchObject([
      { message: 'Unhealthy', error: false, name: 'kubernetes' },
    ]);
    expect(await endedRound(() => rounds.stable(cluster, 'n1', described))).toMatch(/^done: /);
    expect((await rounds.stable(cluster, 'n2', described)).state).toBe('waiting');
    expect(await endedRound(() => rounds.removeFrom(cluster, 'n1', described))).toBe(
      'done: member n1 removed from kubernetes',
    );
    await expect.poll(() => readEtcdHealth(context, [described])).toMatchObject([{ message: 'Healthy', error: false }]);
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
      { everyMs: 50 },
    );
    await expect.poll(async () => reported(await rounds.removeFrom(cluster, 'n2'))).toContain('(n1 is unhealthy)');
    const removal = () => endedRound(() => rounds.removeFrom(cluster, 'n1'));
    expect(await removal()).toBe('done: member n1 removed from kubernetes');
    // what it says of its cluster is old, and not asked for
    expect(await removal()).toBe('done: no member of kubernetes runs on n1');
    await cluster.kill('n1');
    await expectListed(cluster, ['n2', 'n3']);
  });
});

test('an old list of members says of no node that none runs there', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    cluster.member('n1').cut();
    await cluster.waitHealthy(['n2', 'n3']);
    await cluster.add('n4');
    await cluster.waitHealthy(['n2', 'n3', 'n4']);
    const unknown = /^waiting: .*no member has the word of a quorum/;
    const alone = { endpoints: [cluster.member('n1').url] };
    const others = ['n2', 'n3', 'n4'].map((name) => cluster.member(name));
    for (const member of others) member.pause();
    try {
      expect(reported(await rounds.removeFrom(cluster, 'n4', alone))).toMatch(unknown);
      expect(reported(await rounds.removeFrom(cluster, 'n4'))).toMatch(unknown);
    } finally {
      for (const member of others) member.resume();
    }
    cluster.member('n1').mend();
    await cluster.waitHealthy();
    await expectListed(cluster, ['n1', 'n2', 'n3', 'n4']);
  });
});

test('a member that answers nobody; without a quorum nothing is done, and with it again the same round goes on', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    cluster.member('n2').pause();
    cluster.member('n3').pause();
    expect((await rounds.removeFrom(cluster, 'n1')).state).toBe('waiting');
    expect(reported(await rounds.stable(cluster, 'n1'))).toContain('voting members are not a quorum');
    cluster.member('n3').resume();
    await cluster.waitHealthy(['n1', 'n3']);
    expect(await endedRound(() => rounds.removeFrom(cluster, 'n2'))).toMatch(/^done: /);
    await cluster.kill('n2');
    await expectListed(cluster, ['n1', 'n3']);
  });
});

test('two removals at the same time take out one', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    const removal = (node: string) => refusal(rounds.removeFrom(cluster, node, { minimumMembers: 2 }));
    const [one, other] = await waitUntil('a leader under which one may go', async () => {
      const both = (await Promise.all(['n1', 'n2'].map(removal))).toSorted();
      return both.every((each) => each.endsWith('do not agree on a leader')) ? undefined : both;
    });
    expect(one).toMatch(/^done: .*member n[12] removed from kubernetes$/);
    expect(other).toMatch(
      /another removal from it is under way|1 voting member would be left, and minimum_members is 2/,
    );
    await expect.poll(() => listed(cluster)).toHaveLength(2);
  });
});

test('unstarted members and learners, found by the address in the document', async () => {
  await inCluster(['n1', 'n2', 'n3'], async (cluster) => {
    await cluster.add('n4', { isStarted: false });
    await cluster.add('n5', { isLearner: true });
    await waitUntil('the learner', async () => (await listed(cluster)).includes('n5') || undefined);
    const removal = (node: string, more?: Partial<EtcdCluster>) =>
      endedRound(() => rounds.removeFrom(cluster, node, more));
    expect(await removal('n4')).toMatch(
      /nothing says on which node [0-9a-f]+ at https:\/\/192\.0\.2\.4:2380 runs: name it in the members/,
    );
    // an entry that names the node and is no member's excuses nobody: the vote would stay when the machine is wiped
    for (const entry of [{ name: 'n4' }, { address: '192.0.2.44' }]) {
      expect(await removal('n4', { members: [{ node: 'n4', ...entry }] })).toMatch(
        /nothing says on which node [0-9a-f]+ at https:\/\/192\.0\.2\.4:2380 runs \(no member has the (name n4|address 192\.0\.2\.44) that members gives for n4\): name it/,
      );
    }
    expect((await listed(cluster)).filter((name) => name === '')).toHaveLength(1);
    const members = [{ node: 'n4', address: '192.0.2.4' }];
    await expect
      .poll(async () => reported(await rounds.stable(cluster, 'n1', { members })))
      .toMatch(/at https:\/\/192\.0\.2\.4:2380 is unstarted/);
    expect(await removal('n4', { members })).toMatch(/^done: member [0-9a-f]+ at \S+ removed from kubernetes$/);
    expect(await removal('n5')).toBe('done: member n5 removed from kubernetes');
    await expectListed(cluster, ['n1', 'n2', 'n3']);
  });
});

test("etcd's own guard is waited for", async () => {
  await inCluster(
    ['n1', 'n2', 'n3'],
    async (cluster) => {
      const first = await rounds.removeFrom(cluster, 'n3');
      expect(reported(first)).toMatch(
        /^(done|waiting): .*(unhealthy cluster|removed from kubernetes|agree on a leader)$/,
      );
      expect(await endedRound(() => rounds.removeFrom(cluster, 'n3'))).toMatch(/^done: /);
      await expectListed(cluster, ['n1', 'n2']);
    },
    true,
  );
});
