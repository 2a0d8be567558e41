import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { waitUntil } from '#test/lab/wait-until.ts';
import { nodeOf } from '#test/simulators/kubernetes/resource.ts';
import { newBudget, newSet } from '#test/simulators/kubernetes/scene.ts';
import type { KubernetesSimulatorOptions } from '#test/simulators/kubernetes/simulator.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { stopSeconds } from '#test/simulators/kubernetes/world.ts';
import { makeCertificate } from '#test/support/certificate.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { createKubectl, type Kubectl } from '#test/support/kubectl.ts';

/**
 * Debian's kubectl (1.20) judges the simulated API server: if it can work with it as with a real one, so may what Baton is
 * tested with it. And both drain the same cluster to the same end.
 */

let directory: string;
let tls: { readonly key: string; readonly cert: string };
let caFile: string;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-kubectl-'));
  const { certFile, keyFile } = await makeCertificate(directory, 'api-server');
  tls = { cert: await readFile(certFile, 'utf8'), key: await readFile(keyFile, 'utf8') };
  caFile = certFile;
});
afterAll(() => rm(directory, { recursive: true, force: true }));
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

/** Over HTTPS, with a token, as real ones are reached. */
async function newCluster(
  options: KubernetesSimulatorOptions = {},
): Promise<{ small: SmallCluster; kubectl: Kubectl }> {
  const small = await startSmallCluster({ tls, caFile, token: 'a-token', ...options });
  open.push(small);
  return { small, kubectl: createKubectl(small.kubeconfigFile, small.directory) };
}

async function startConductor(small: SmallCluster): Promise<ConductorProcess> {
  const conductor = await prepareConductor({ BATON_KUBECONFIG: small.kubeconfigFile });
  open.push(conductor);
  await conductor.start();
  return conductor;
}

const drainArgs = ['drain', '--force', '--ignore-daemonsets', '--delete-local-data', '--grace-period', '1'];

describe.each(['v1', 'v1beta1'] as const)('kubectl, evictions of %s', (eviction) => {
  test('lists, cordons, labels, patches, watches', async () => {
    const { small, kubectl } = await newCluster({ eviction });
    await small.addSet('web', 2);
    const { stdout } = await kubectl.call(['get', 'nodes']);
    expect(stdout).toMatch(/^NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION\nn1\s+Ready\s+<none>.*\nn2\s+Ready/);
    const watching = kubectl.watch(['get', 'nodes', '-w', '--no-headers']);
    let seen = '';
    watching.stdout.on('data', (chunk: Buffer) => {
      seen += chunk.toString();
    });
    await expect.poll(() => seen).toMatch(/n2\s+Ready/);
    await kubectl.call(['cordon', 'n1']);
    await expect.poll(() => seen).toMatch(/n1\s+Ready,SchedulingDisabled/);
    await kubectl.call(['label', 'node', 'n1', 'node-role.kubernetes.io/worker=']);
    await expect.poll(() => seen).toMatch(/n1\s+Ready,SchedulingDisabled\s+worker/);
    watching.kill('SIGTERM');
    await watching.exited;

    const refused = await kubectl.call(['label', 'node', 'n1', 'a=b', '--resource-version=1'], { ok: false });
    expect(refused.stderr).toContain('the object has been modified');
    await kubectl.call(['label', 'node', 'n1', 'node-role.kubernetes.io/worker-']);
    for (const [type, patch] of [
      ['strategic', '{"metadata":{"labels":{"a":"1","b":"1"}}}'],
      ['merge', '{"metadata":{"labels":{"a":null}}}'],
      ['json', '[{"op":"replace","path":"/metadata/labels/b","value":"2"}]'],
    ] as const) {
      await kubectl.call(['patch', 'node', 'n1', '--type', type, '-p', patch]);
    }
    await kubectl.call(['uncordon', 'n1']);
    expect(small.node('n1')?.metadata.labels).toMatchObject({ b: '2' });
    expect(small.node('n1')?.metadata.labels).not.toHaveProperty('a');
    const selected = await kubectl.call([
      'get',
      'pods',
      '-A',
      '-l',
      'app in (web)',
      '--field-selector',
      'spec.nodeName=n1',
      '-o',
      'name',
    ]);
    expect(selected.stdout.trim().split('\n')).toHaveLength(small.podsOn('n1').length);
  });

  test('drains, and waits for a budget', async () => {
    const { small, kubectl } = await newCluster({ eviction });
    await small.addSet('web', 2);
    small.simulator.store.create('poddisruptionbudgets', newBudget('web', 'web', 2));
    const status =
      'jsonpath={.status.currentHealthy} of {.status.desiredHealthy}, {.status.disruptionsAllowed} allowed';
    await waitUntil(
      'the budget to be judged',
      async () => (await kubectl.call(['get', 'pdb', 'web', '-o', status])).stdout === '2 of 2, 0 allowed' || undefined,
      { everyMs: 100 },
    );
    small.addPod({ name: 'bare', node: 'n1', hasLocalData: true });
    await small.settle();
    const blocked = await kubectl.call([...drainArgs, '--timeout', '12s', 'n1'], { ok: false });
    expect(blocked.stderr).toContain("Cannot evict pod as it would violate the pod's disruption budget.");
    // the one without a budget goes, whether kubectl still waited for its end or not
    await expect.poll(() => small.podsOn('n1')).toHaveLength(1);
    await kubectl.call(['delete', 'pdb', 'web']);
    const { stdout } = await kubectl.call([...drainArgs, '--timeout', '240s', 'n1']);
    expect(stdout).toContain('node/n1 evicted');
    expect(small.podsOn('n1')).toEqual([]);
    await kubectl.call(['delete', 'node', 'n1']);
    expect(small.node('n1')).toBeUndefined();
  });

  test('deletes what finalizers hold once they are gone', async () => {
    const { small, kubectl } = await newCluster({ eviction });
    small.addPod({ name: 'held', node: 'n1', finalizers: ['example.org/hold'] });
    await small.settle();
    await kubectl.call(['delete', 'pod', 'held', '--wait=false', '--grace-period=1']);
    await expect.poll(() => small.podsOn('n1')[0]?.metadata.deletionGracePeriodSeconds).toBe(0);
    const listed = await kubectl.call(['get', 'pods']);
    expect(listed.stdout).toMatch(/held\s+\S+\s+Terminating/);
    const gone = kubectl.call(['wait', '--for=delete', 'pod/held', '--timeout=240s']);
    // kubectl refuses to wait for what is gone before its first look
    await expect.poll(() => small.simulator.watchCount()).toBeGreaterThan(0);
    await kubectl.call(['patch', 'pod', 'held', '--type', 'merge', '-p', '{"metadata":{"finalizers":null}}']);
    await gone;
    expect(small.podsOn('n1')).toEqual([]);
  });
});

test('kubectl applies the manifest that stops kubelets', async () => {
  const { small, kubectl } = await newCluster();
  const file = join(import.meta.dirname, '../../conductor/cluster/kubernetes/kubelet-shutdown.yaml');
  await kubectl.call(['create', '--validate=false', '-f', file]);
  expect(small.podsOn('n1')).toEqual([]);
  await kubectl.call(['label', 'node', 'n1', 'promenade-decomission=enabled']);
  await expect.poll(() => small.simulator.world.isRunning('n1')).toBe(false);
  expect(small.simulator.world.isRunning('n2')).toBe(true);
});

/** Everything that a drain treats in a way of its own. */
async function furnish(small: SmallCluster): Promise<void> {
  const { store } = small.simulator;
  await small.addSet('web', 6, { [stopSeconds]: '1' });
  store.create('poddisruptionbudgets', newBudget('web', 'web', 4));
  const agents = store.create('daemonsets', newSet('agents'));
  const gone = store.create('daemonsets', newSet('gone', { nodeSelector: { none: 'such' } }));
  store.remove('daemonsets', gone);
  small.addPod({ name: 'orphan', node: 'n1', owner: gone });
  small.addPod({ name: 'bare', node: 'n1' });
  small.addPod({ name: 'scratch', node: 'n1', hasLocalData: true });
  small.addPod({ name: 'over', node: 'n1', phase: 'Succeeded' });
  small.addPod({ name: 'agents-over', node: 'n1', phase: 'Failed', owner: agents });
  small.addPod({ name: 'static', node: 'n1', annotations: { 'kubernetes.io/config.mirror': 'x' } });
  small.addPod({ name: 'elsewhere', node: 'n2' });
  await small.settle();
}

/** Which pods are where, by name, or by app for those whose names are made up. */
function picture({ simulator: { store } }: SmallCluster): unknown {
  const pods = store.list('pods').map((pod) => {
    const { name, labels } = pod.metadata;
    return `${nodeOf(pod)}: ${labels?.['app'] === undefined || name === 'agents-over' ? name : labels['app']}`;
  });
  const nodes = store.list('nodes').map(({ metadata, spec }) => [metadata.name, metadata.labels, spec]);
  return { pods: pods.toSorted(), nodes };
}

test('kubectl and Baton drain the same cluster to the same end', async () => {
  const [byKubectl, byBaton] = [await newCluster(), await newCluster()];
  await Promise.all([furnish(byKubectl.small), furnish(byBaton.small)]);
  expect(picture(byBaton.small)).toEqual(picture(byKubectl.small));
  await byKubectl.kubectl.call([...drainArgs, '--timeout', '240s', 'n1']);
  const conductor = await startConductor(byBaton.small);
  const answer = await fetch(`${conductor.url}/nodes/n1/drain?timeout=240&grace-period=1`, { method: 'POST' });
  expect([answer.status, await answer.json()]).toEqual([
    200,
    expect.objectContaining({ message: 'Node n1 is drained' }),
  ]);
  await Promise.all([byKubectl.small.settle(), byBaton.small.settle()]);
  expect(picture(byBaton.small)).toEqual(picture(byKubectl.small));
  expect(byBaton.small.podsOn('n1').map(({ metadata }) => metadata.labels?.['app'] ?? metadata.name)).toEqual(
    expect.arrayContaining(['static', 'agents']),
  );
});

test('who hangs up stops a drain, a killed conductor leaves one behind, and a repeat ends it', async () => {
  const { small } = await newCluster();
  const conductor = await startConductor(small);
  await small.addSet('web', 4);
  const budget = small.simulator.store.create('poddisruptionbudgets', newBudget('web', 'web', 4));
  const drain = (signal?: AbortSignal): Promise<Response> =>
    fetch(`${conductor.url}/api/v1.0/nodes/n1/drain?timeout=240&grace-period=1`, {
      method: 'POST',
      ...(signal ? { signal } : {}),
    });
  const evictions = (): number => small.simulator.requests.filter(({ path }) => path.endsWith('/eviction')).length;

  const leaving = new AbortController();
  const left = drain(leaving.signal).catch(String);
  await expect.poll(evictions).toBeGreaterThan(0);
  leaving.abort();
  expect(await left).toContain('AbortError');
  // the server knows of it when the watch ends, too
  await expect.poll(() => small.simulator.watchCount()).toBe(0);
  const before = evictions();

  const cut = drain().catch(String);
  await expect.poll(evictions).toBeGreaterThan(before);
  await conductor.kill('SIGKILL');
  expect(await cut).toContain('fetch failed');

  small.simulator.store.remove('poddisruptionbudgets', budget);
  await conductor.start();
  expect((await drain()).status).toBe(200);
  expect(small.podsOn('n1')).toEqual([]);
});
