import { openDatabase } from '#conductor/db/open.ts';
import type { Site, SiteNode } from '#conductor/sites/site.ts';
import { quorumOf } from '#conductor/teardown/etcd/cluster-view.ts';
import { lookAtCluster } from '#conductor/teardown/etcd/look-at-cluster.ts';
import type { EtcdContext } from '#conductor/teardown/etcd/open-cluster.ts';
import { removeEtcdRound } from '#conductor/teardown/etcd/remove-etcd-round.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { type BenchContext, type Figure, median, percentile, round } from '#test/bench/area.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type EtcdTestCluster, startEtcd } from '#test/support/etcd.ts';
import { startEtcdWriter } from '#test/support/etcd-writer.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

const removals = 50;
const minimum = 2;
const names = ['n1', 'n2', 'n3', 'n4', 'n5'];
/** What is done to a member before it is taken out. */
const fates = ['nothing', 'nothing', 'made leader', 'killed', 'cut off'] as const;
type Fate = (typeof fates)[number];

/** The same sequence for the same seed, so that a run that went wrong can be repeated. */
function createDraw(seed: number): <Choice>(choices: readonly Choice[]) => Choice {
  const state = { value: seed };
  return (choices) => {
    state.value = (Math.imul(state.value, 1_664_525) + 1_013_904_223) >>> 0;
    const chosen = choices[Math.floor((state.value / 2 ** 32) * choices.length)];
    if (chosen === undefined) throw new Error('nothing to choose from');
    return chosen;
  };
}

/**
 * Fifty members are taken out of a cluster of three to five real ones: well, leading, dead or cut off, at random, and
 * others come back in between, with etcd's own guard off. A client writes throughout; at the end every write that was
 * acknowledged is looked for. Meanwhile all members are asked again and again whether they have the word of a quorum.
 */
export async function measureEtcdRemovals({ say }: BenchContext): Promise<Record<string, Figure>> {
  const seed = Date.now() >>> 0;
  const draw = createDraw(seed);
  const database = await openDatabase({ dataDirectory: 'memory://' });
  const cluster = await startEtcd(names);
  const writer = startEtcdWriter(cluster);
  const watch = watchQuorum(cluster);
  const context: EtcdContext = {
    db: database.db,
    database,
    secrets: testSecrets,
    clock: systemClock,
    log: silentLog,
    config: { etcdTlsDirectory: cluster.tlsDirectory },
    etcdLimits: { connectMs: 1000, askMs: 2000, actMs: 5000 },
  };
  const took: number[] = [];
  let unsafe = 0;
  try {
    for (let index = 0; index < removals; index += 1) {
      const members = cluster.running().map(({ name }) => name);
      // two that are well must be left, and one more where the one that leaves is dead
      const fate = draw(members.length > 3 ? fates : fates.filter((each) => each !== 'killed' && each !== 'cut off'));
      const name = draw(members);
      await befall(cluster, name, fate);
      const began = performance.now();
      await remove(context, cluster, name);
      took.push(performance.now() - began);
      await cluster.kill(name);
      if (!(await isSafe(cluster))) unsafe += 1;
      const back = names.filter((each) => !cluster.running().some((member) => member.name === each));
      if (cluster.running().length < 3 || draw([true, false])) await cluster.add(draw(back));
      if (index % 10 === 9) say(`${index + 1} of ${removals} removals, seed ${seed}; the last ${name}: ${fate}`);
    }
    const report = await writer.stop();
    return {
      etcd_removals: { value: took.length, unit: 'removals' },
      etcd_lost_writes: { value: report.lost.length, unit: 'writes' },
      etcd_acknowledged_writes: { value: report.acknowledged, unit: 'writes' },
      etcd_quorum_losses: { value: unsafe + (await watch.stop()), unit: 'times' },
      etcd_removal_ms_p50: { value: round(median(took), 0), unit: 'ms' },
      etcd_removal_ms_p95: { value: round(percentile(took, 0.95), 0), unit: 'ms' },
      etcd_longest_write_gap_ms: { value: round(report.longestGapMs, 0), unit: 'ms' },
    };
  } finally {
    // they would go on asking members that are gone
    await Promise.all([watch.stop(), writer.end()]);
    await cluster.close();
    await database.close();
  }
}

async function befall(cluster: EtcdTestCluster, name: string, fate: Fate): Promise<void> {
  if (fate === 'made leader' && (await cluster.leader()) !== name) await cluster.moveLeader(name);
  if (fate === 'killed') await cluster.kill(name);
  if (fate === 'cut off') cluster.member(name).cut();
}

/** As an operator's request does it, but without pauses of seconds. */
async function remove(context: EtcdContext, cluster: EtcdTestCluster, node: string): Promise<void> {
  const site: Pick<Site, 'nodes' | 'etcdClusters'> = {
    nodes: new Map(names.map((name) => [name, { name } as SiteNode])),
    etcdClusters: [cluster.describe({ minimumMembers: minimum })],
  };
  const look = async (): Promise<true | undefined> =>
    (await removeEtcdRound(context, { node, site })).state === 'done' || undefined;
  await waitUntil(`${node} to leave`, look, { timeoutMs: 60_000, everyMs: 50 });
}

/** Whether those that are left can lose no more than they may. */
async function isSafe(cluster: EtcdTestCluster): Promise<boolean> {
  const { members } = await lookAtCluster(cluster.client, cluster.describe());
  const voters = members.filter(({ isLearner }) => !isLearner);
  return voters.filter(({ state }) => state === 'healthy').length >= quorumOf(voters.length);
}

/** Looks until it is stopped. @returns how often nobody had the word of a quorum, for as long as etcd waits for it: 1 s */
function watchQuorum(cluster: EtcdTestCluster): { stop(): Promise<number> } {
  const state = { isStopped: false, losses: 0 };
  const watch = async (): Promise<void> => {
    while (!state.isStopped) {
      const answers = await Promise.allSettled(cluster.running().map(({ url }) => cluster.client.isHealthy(url)));
      if (!answers.some((each) => each.status === 'fulfilled' && each.value)) state.losses += 1;
      await systemClock.sleep(200);
    }
  };
  const watching = watch();
  return {
    stop: async () => {
      state.isStopped = true;
      await watching;
      return state.losses;
    },
  };
}
