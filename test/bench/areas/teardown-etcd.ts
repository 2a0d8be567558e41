import { quorumOf } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { lookAtCluster } from '#conductor/cluster/etcd/look-at-cluster.ts';
import type { EtcdContext } from '#conductor/cluster/etcd/open-cluster.ts';
import { removeEtcdRound } from '#conductor/cluster/etcd/remove-etcd-round.ts';
import { openDatabase } from '#conductor/kernel/db/open.ts';
import type { Site, SiteNode } from '#conductor/sites/site.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { type BenchContext, type Figure, median, percentile, round } from '#test/bench/area.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type EtcdTestCluster, startEtcd } from '#test/support/etcd.ts';
import { startEtcdWriter } from '#test/support/etcd-writer.ts';
import { startPostgresql } from '#test/support/postgresql.ts';

const removals = 50;
const minimum = 2;
const names = ['n1', 'n2', 'n3', 'n4', 'n5'];
/** Fates of a member before it is taken out. */
const fates = ['nothing', 'nothing', 'made leader', 'killed', 'cut off'] as const;
type Fate = (typeof fates)[number];

/** The same sequence for the same seed, so that a run that went wrong can be repeated. */
function createDraw(seed: number): <Choice>(choices: readonly Choice[]) => Choice {
  const state = { value: seed };
  return (choices) => {
    // mulberry32: draws that follow each other have nothing in common
    state.value = (state.value + 0x6d2b79f5) >>> 0;
    const mixed = Math.imul(state.value ^ (state.value >>> 15), state.value | 1);
    const number = mixed ^ (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61));
    const chosen = choices[Math.floor((((number ^ (number >>> 14)) >>> 0) / 2 ** 32) * choices.length)];
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
  const server = await startPostgresql();
  const database = await openDatabase({ url: server.url, dataDirectory: '' });
  const cluster = await startEtcd(names, { heartbeatMs: 30 });
  const writer = startEtcdWriter(cluster);
  const watch = watchQuorum(cluster);
  const context: EtcdContext = {
    openCredential: () => Promise.resolve(undefined),
    database,
    clock: systemClock,
    log: silentLog,
    config: { etcdTlsDirectory: cluster.tlsDirectory },
    etcdLimits: { connectMs: 1000, askMs: 2000, actMs: 5000 },
  };
  const took: number[] = [];
  const befell = new Map<Fate, number>();
  let unsafe = 0;
  try {
    for (let index = 0; index < removals; index += 1) {
      const members = cluster.running().map(({ name }) => name);
      // two that are well must be left, and one more where the one that leaves is dead
      const fate = draw(members.length > 3 ? fates : fates.filter((each) => each !== 'killed' && each !== 'cut off'));
      const name = draw(members);
      befell.set(fate, (befell.get(fate) ?? 0) + 1);
      await befall(cluster, name, fate);
      const began = performance.now();
      await remove(context, cluster, name);
      took.push(performance.now() - began);
      await cluster.kill(name);
      if (!(await isSafe(cluster))) unsafe += 1;
      const size = draw([3, 4, 4, 5]);
      while (cluster.running().length < size) {
        const there = new Set(cluster.running().map((member) => member.name));
        await cluster.add(draw(names.filter((each) => !there.has(each))));
      }
      if (index % 10 === 9) say(`${index + 1} of ${removals} removals, seed ${seed}: ${describeFates(befell)}`);
    }
    const report = await writer.stop();
    const quorum = await watch.stop();
    return {
      etcd_removals: { value: took.length, unit: 'removals' },
      etcd_lost_writes: { value: report.lost.length, unit: 'writes' },
      etcd_acknowledged_writes: { value: report.acknowledged, unit: 'writes' },
      etcd_quorum_losses: { value: unsafe + quorum.losses, unit: 'times' },
      etcd_longest_quorum_gap_ms: { value: round(quorum.longestGapMs, 0), unit: 'ms' },
      etcd_removal_ms_p50: { value: round(median(took), 0), unit: 'ms' },
      etcd_removal_ms_p95: { value: round(percentile(took, 0.95), 0), unit: 'ms' },
      etcd_longest_write_gap_ms: { value: round(report.longestGapMs, 0), unit: 'ms' },
    };
  } finally {
    // they would go on asking members that are gone
    await Promise.all([watch.stop(), writer.end()]);
    await cluster.close();
    await database.close();
    await server.close();
  }
}

function describeFates(befell: ReadonlyMap<Fate, number>): string {
  return [...befell].map(([fate, times]) => `${fate} ${times}`).join(', ');
}

async function befall(cluster: EtcdTestCluster, name: string, fate: Fate): Promise<void> {
  if (fate === 'made leader' && (await cluster.leader()) !== name) await cluster.moveLeader(name);
  if (fate === 'killed') await cluster.kill(name);
  if (fate === 'cut off') cluster.member(name).cut();
}

/** Removes as an operator's request does, but without pauses of seconds. */
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

/** A leader that is killed takes its place along for an election, of a third of a second; what lasts longer is a loss. */
const electionMs = 5_000;

interface QuorumReport {
  readonly losses: number;
  readonly longestGapMs: number;
}

/** Looks until it is stopped for one who has the word of a quorum, which etcd waits a second for. */
function watchQuorum(cluster: EtcdTestCluster): { stop(): Promise<QuorumReport> } {
  const state = { isStopped: false, losses: 0, longestGapMs: 0, seen: performance.now() };
  const watch = async (): Promise<void> => {
    while (!state.isStopped) {
      const began = performance.now();
      const answers = await Promise.allSettled(cluster.running().map(({ url }) => cluster.client.isHealthy(url)));
      if (answers.some((each) => each.status === 'fulfilled' && each.value)) {
        const gap = began - state.seen;
        if (gap > electionMs) state.losses += 1;
        state.longestGapMs = Math.max(state.longestGapMs, gap);
        state.seen = performance.now();
      }
      await systemClock.sleep(200);
    }
  };
  const watching = watch();
  return {
    stop: async () => {
      state.isStopped = true;
      await watching;
      return { losses: state.losses, longestGapMs: state.longestGapMs };
    },
  };
}
