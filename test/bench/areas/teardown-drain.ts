import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drainStep, runNodeStep } from '#conductor/cluster/kubernetes/node-steps.ts';
import { type BenchContext, type Figure, median, round } from '#test/bench/area.ts';
import { loadAverage } from '#test/bench/process-figures.ts';
import { startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { stopSeconds } from '#test/simulators/kubernetes/world.ts';
import { makeCertificate } from '#test/support/certificate.ts';
import { createKubectl } from '#test/support/kubectl.ts';

const podCount = 100;
const graceSeconds = 1;
const rounds = 3;

/**
 * Measures what a drain of a hundred pods takes beyond the second that each of them needs to end: Baton's, and as the
 * baseline `kubectl drain` of the same pods at the same simulated API server, over HTTPS, in turn.
 */
export async function measureDrain({ say }: BenchContext): Promise<Record<string, Figure>> {
  const directory = await mkdtemp(join(tmpdir(), 'baton-bench-drain-'));
  try {
    const { certFile, keyFile } = await makeCertificate(directory, 'api-server');
    const tls = { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
    // without one, kubectl asks for a user name
    const reached = { tls, caFile: certFile, token: 'a-token' };
    const [ours, theirs] = [[] as number[], [] as number[]];
    for (let index = 0; index < rounds; index += 1) {
      ours.push(await overhead(reached, drainByBaton));
      theirs.push(await overhead(reached, drainByKubectl));
      say(
        `round ${index + 1}: ${round(ours.at(-1) ?? 0, 2)} s, kubectl ${round(theirs.at(-1) ?? 0, 2)} s; load ${await loadAverage()}`,
      );
    }
    const [value, baseline] = [median(ours), median(theirs)];
    return {
      [`drain_overhead_s_${podCount}_pods`]: {
        value: round(value, 2),
        unit: 's',
        baseline: round(baseline, 2),
        ratio: round(baseline / value, 2),
      },
    };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

type SmallCluster = Awaited<ReturnType<typeof startSmallCluster>>;

/** Seconds beyond the pods' own. */
async function overhead(
  options: Parameters<typeof startSmallCluster>[0],
  drain: (small: SmallCluster) => Promise<void>,
): Promise<number> {
  const small = await startSmallCluster(options);
  try {
    for (let index = 0; index < podCount; index += 1) {
      const annotations = { [stopSeconds]: String(graceSeconds) };
      small.addPod({ name: `pod-${index}`, node: 'n1', phase: 'Running', annotations });
    }
    const startedAt = performance.now();
    await drain(small);
    const seconds = (performance.now() - startedAt) / 1000;
    const left = small.podsOn('n1').length;
    if (left > 0) throw new Error(`the drain has left ${left} pods`);
    return seconds - graceSeconds;
  } finally {
    await small.close();
  }
}

async function drainByBaton({ kubeconfigFile }: SmallCluster): Promise<void> {
  const step = {
    node: 'n1',
    timeout: 120,
    gracePeriod: graceSeconds,
    force: true,
    signal: new AbortController().signal,
  };
  await runNodeStep(kubeconfigFile, 'DrainNodeError', drainStep, step);
}

async function drainByKubectl({ kubeconfigFile, directory }: SmallCluster): Promise<void> {
  const flags = ['--force', '--ignore-daemonsets', '--delete-local-data', '--timeout', '120s'];
  await createKubectl(kubeconfigFile, directory).call([
    'drain',
    ...flags,
    '--grace-period',
    String(graceSeconds),
    'n1',
  ]);
}
