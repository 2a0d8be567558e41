import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { isUnknownNode } from '#conductor/cluster/cluster-faults.ts';
import { describeMotion } from '#conductor/cluster/kubernetes/clear-labels.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import {
  ClusterNode,
  cordon,
  isCordoned,
  listAll,
  listPodsOf,
  nodesPath,
  podName,
  readNode,
  readReady,
} from '#conductor/cluster/kubernetes/client/objects.ts';
import { openCluster } from '#conductor/cluster/kubernetes/client/open-cluster.ts';
import { findDaemonSets } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { listBudgets } from '#conductor/cluster/kubernetes/disruption-budgets.ts';
import { findLastReady } from '#conductor/cluster/kubernetes/guard-changes.ts';
import { shutdownKubelet } from '#conductor/cluster/kubernetes/node-steps.ts';
import { planDrain, podFate } from '#conductor/cluster/kubernetes/plan-drain.ts';
import { requireSameMachine, requireUnderNoOtherName } from '#conductor/cluster/kubernetes/same-machine.ts';
import { errorChain, isRetryable } from '#shared/errors/app-error.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { readAnswers } from '#test/recorded/recorded-answers.ts';
import { startKubernetesSimulator } from '#test/simulators/kubernetes/simulator.ts';

const refused = z.literal('refused');
const byPod = z.record(z.string(), z.string());
const Reading = z
  .strictObject({
    node: z.union([
      z.enum(['absent', 'refused']),
      z.strictObject({ ready: z.enum(['ready', 'not ready', 'unknown']), cordoned: z.boolean() }),
    ]),
    /** Part of what is said against taking the node out; `null`: nothing. */
    guard: z.string().nullable(),
    /** Whether it is the machine with this UUID in its inventory. */
    machine: z.strictObject({ uuid: z.string(), is: z.enum(['yes', 'unknown', 'another']) }),
    /** Part of what is said of a node under another name. */
    elsewhere: z.strictObject({ uuid: z.string().nullable(), is: z.string().nullable() }),
    kubelet: z.enum(['silent', 'reports']),
    pods: z.union([refused, byPod]),
    /** Pods that a budget keeps. */
    kept: byPod,
    /** Pods that have not settled. */
    settled: byPod,
    /** Part of the refusal. */
    says: z.string(),
    retryable: z.boolean(),
  })
  .partial();
type Reading = z.infer<typeof Reading>;

const { signal } = new AbortController();
const recordings = await readRecordings('kubernetes', Reading);

/** The API server of a recording, and the way that flows have to it. */
async function begin(outputs: Readonly<Record<string, string>>) {
  const simulator = await startKubernetesSimulator({ recorded: outputs });
  const directory = await mkdtemp(join(tmpdir(), 'baton-recorded-'));
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, simulator.kubeconfig());
  const cluster = await openCluster(kubeconfig);
  onTestFinished(async () => {
    await cluster.close();
    await simulator.close();
    await rm(directory, { recursive: true });
  });
  return { simulator, cluster };
}

test.each(recordings)('$name: $shows', async ({ outputs, reading }) => {
  const { simulator, cluster } = await begin(outputs);
  const refusals: unknown[] = [];
  const now = await read(cluster, reading, refusals);
  expect(now).toEqual(reading);
  const find = readAnswers(outputs);
  const missing = simulator.requests.filter(({ method, path }) => !find(method, new URL(path, simulator.server)));
  expect(missing).toEqual([]);
});

const withNode = recordings.filter(({ reading }) => typeof reading.node === 'object');

test.each(withNode)('$name: its node is cordoned, and reads as before', async ({ outputs, reading }) => {
  const { cluster } = await begin(outputs);
  await cordon(cluster, await readNode(cluster, 'n1'), signal);
  expect(await lookAt(cluster)).toEqual({ ...(reading.node as object), cordoned: true });
});

test('what was not recorded is not told, whatever was changed', async () => {
  const [recording] = withNode.filter(({ outputs }) => !('GET /api/v1/nodes' in outputs));
  const { simulator, cluster } = await begin(recording?.outputs ?? {});
  await cordon(cluster, await readNode(cluster, 'n1'), signal);
  expect((await fetch(`${simulator.server}/api/v1/nodes`)).status).toBe(501);
  expect((await fetch(`${simulator.server}/api/v1/nodes/n1`)).status).toBe(200);
  expect((await fetch(`${simulator.server}/api/v1/pods`)).status).toBe(501);
});

/** Reads what the recording is about. */
async function read(cluster: Cluster, about: Reading, refusals: unknown[]): Promise<Reading> {
  const orRefused = (error: unknown): 'refused' => {
    refusals.push(error);
    return 'refused';
  };
  const found: Reading = {};
  if (about.node !== undefined) found.node = await lookAt(cluster).catch(orRefused);
  if (about.guard !== undefined) {
    const nodes = await listAll(cluster, nodesPath, ClusterNode, { what: 'nodes', signal });
    const why = findLastReady(nodes, { names: ['n1'], staysOut: false }).get('n1') ?? null;
    found.guard = why !== null && about.guard !== null && why.includes(about.guard) ? about.guard : why;
  }
  if (about.machine !== undefined) {
    const { uuid } = about.machine;
    const remarks = requireSameMachine(cluster, await readNode(cluster, 'n1'), uuid);
    found.machine = { uuid, is: remarks.length === 0 ? 'yes' : 'unknown' };
  }
  if (about.elsewhere !== undefined) found.elsewhere = await lookElsewhere(cluster, about.elsewhere);
  if (about.kubelet !== undefined) {
    const { state } = await shutdownKubelet(cluster, 'n1', signal);
    found.kubelet = state === 'done' ? 'silent' : 'reports';
  }
  if (about.pods !== undefined)
    Object.assign(found, await lookAtPods(cluster, about).catch((error: unknown) => ({ pods: orRefused(error) })));
  const texts = refusals.map(errorChain);
  if (texts.length > 0)
    found.says = texts.every((text) => text.includes(about.says ?? '')) ? about.says : texts.join('; ');
  if (about.retryable !== undefined) found.retryable = refusals.every(isRetryable);
  return found;
}

async function lookAt(cluster: Cluster): Promise<Reading['node']> {
  try {
    const node = await readNode(cluster, 'n1', signal);
    return { ready: readReady(node), cordoned: isCordoned(node) };
  } catch (error) {
    if (isUnknownNode(error)) return 'absent';
    throw error;
  }
}

async function lookElsewhere(
  cluster: Cluster,
  { uuid, is }: NonNullable<Reading['elsewhere']>,
): Promise<Reading['elsewhere']> {
  const systemUuid = uuid ?? undefined;
  const why = await requireUnderNoOtherName(cluster, { name: 'n1', systemUuid, notInClusterOk: false }, signal).then(
    () => null,
    errorChain,
  );
  return { uuid, is: why !== null && is !== null && why.includes(is) ? is : why };
}

async function lookAtPods(cluster: Cluster, about: Reading): Promise<Reading> {
  const pods = await listPodsOf(cluster, 'n1', signal);
  const hasDaemonSet = await findDaemonSets(cluster, pods, signal);
  const fates = pods.map((pod): [string, string] => {
    const fate = podFate(pod, hasDaemonSet);
    const why = fate.fate === 'ignore' ? fate.because : fate.forced;
    return [podName(pod), why === undefined ? fate.fate : `${fate.fate}: ${why}`];
  });
  const budgets = about.kept === undefined ? [] : await listBudgets(cluster, signal);
  const kept = planDrain(pods, hasDaemonSet, budgets).kept.map(({ pod, forbidden }) => [
    podName(pod),
    forbidden.because,
  ]);
  const node = { metadata: { name: 'n1', uid: 'u', resourceVersion: '1' } };
  return {
    pods: Object.fromEntries(fates),
    ...(about.kept === undefined ? {} : { kept: Object.fromEntries(kept) as Record<string, string> }),
    ...(about.settled === undefined
      ? {}
      : { settled: Object.fromEntries(pods.map((pod) => [podName(pod), describeMotion(pod, node) ?? 'settled'])) }),
  };
}
