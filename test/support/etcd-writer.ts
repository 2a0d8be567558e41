import { AnyAnswer } from '#conductor/cluster/etcd/etcd-client.ts';
import { faultOf } from '#conductor/cluster/etcd/etcd-fault.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import type { EtcdTestCluster } from '#test/support/etcd.ts';

export interface WriterReport {
  readonly acknowledged: number;
  /** Keys whose write was acknowledged, and that are not there. */
  readonly lost: readonly string[];
  /** Milliseconds between two acknowledged writes, at the most. */
  readonly longestGapMs: number;
}

/** Writes one key after another to a cluster, to each member in turn, until it is stopped; then looks for them all. */
export function startEtcdWriter(cluster: EtcdTestCluster): {
  /** Waits until so many more writes have been acknowledged. */
  writes(count: number): Promise<void>;
  /** Ends it, and looks. */
  stop(): Promise<WriterReport>;
  /** Ends it. */
  end(): Promise<void>;
} {
  const state = { isStopped: false, longestGapMs: 0, last: performance.now() };
  const acknowledged: string[] = [];
  const work = async (): Promise<void> => {
    for (let index = 0; !state.isStopped; index += 1) {
      const key = `w${index}`;
      const members = cluster.running();
      const url = members[index % members.length]?.url ?? '';
      const body = { key: Buffer.from(key).toString('base64'), value: Buffer.from(key).toString('base64') };
      try {
        await cluster.client.post(url, '/v3/kv/put', body, AnyAnswer);
      } catch (error) {
        // not acknowledged: whether it is there does not matter
        if (faultOf(error) === undefined) throw error;
        continue;
      }
      acknowledged.push(key);
      const now = performance.now();
      state.longestGapMs = Math.max(state.longestGapMs, now - state.last);
      state.last = now;
    }
  };
  const working = work();
  const end = async (): Promise<void> => {
    state.isStopped = true;
    await working;
  };
  return {
    end,
    writes: async (count) => {
      const wanted = acknowledged.length + count;
      const look = (): true | undefined => acknowledged.length >= wanted || undefined;
      await waitUntil(`${count} more acknowledged writes`, look, { timeoutMs: 240_000, everyMs: 10 });
    },
    stop: async () => {
      await end();
      const longestGapMs = Math.max(state.longestGapMs, performance.now() - state.last);
      const there = new Set((await cluster.etcdctl('get', 'w', '--prefix', '--keys-only')).split('\n'));
      return { acknowledged: acknowledged.length, lost: acknowledged.filter((key) => !there.has(key)), longestGapMs };
    },
  };
}
