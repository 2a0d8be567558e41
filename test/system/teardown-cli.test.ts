import { afterAll, beforeAll, expect, test } from 'vitest';
import { startGateway } from '#conductor/cluster/etcd/testing/gateway.ts';
import { silentLog } from '#shared/log.ts';
import { run, start } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { stopSeconds } from '#test/simulators/kubernetes/world.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { batonProgram } from '#test/support/programs.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { createSiteOperator } from '#test/support/site-operator.ts';

/** `baton drain` and its siblings as programs, against a conductor as it ships and the simulated Kubernetes. */

let small: SmallCluster;
let conductor: ConductorProcess;

beforeAll(async () => {
  small = await startSmallCluster();
  conductor = await prepareConductor({ BATON_KUBECONFIG: small.kubeconfigFile });
  await conductor.start();
  await createSiteOperator(conductor.url).commit('site', nodeDocument('n1'));
});
afterAll(async () => {
  await conductor.close();
  await small.close();
});

/** All that stands on standard error when nothing is wrong, of what takes longer than a second. */
const waiting = /^[a-z-]+ of n1: waiting for its end, until [^\n]* at the latest [^\n]*; Ctrl-C stops it\n$/;
const perhapsWaiting = new RegExp(`^$|${waiting.source}`);

const baton = (...args: string[]) =>
  run(batonProgram, args, {
    env: { BATON_URL: conductor.url },
    okExitCodes: [0, 1, 2],
    timeoutMs: 300_000,
  });

test('a drain is interrupted, says what stands as it is, and goes on with the same command', async () => {
  await small.addSet('web', 3, { [stopSeconds]: '1' });
  small.addPod({ name: 'slow', node: 'n1', annotations: { [stopSeconds]: '15' } });
  await small.settle();
  const child = start(batonProgram, ['drain', 'n1', '--timeout', '120', '--grace-period', '20'], {
    env: { BATON_URL: conductor.url },
  });
  let reported = '';
  child.stderr.on('data', (chunk: Buffer) => (reported += chunk.toString('utf8')));
  const evictions = (): number => small.simulator.requests.filter(({ path }) => path.endsWith('/eviction')).length;
  await waitUntil('an eviction', () => evictions() > 0 || undefined, { everyMs: 20 });
  child.kill('SIGINT');
  expect(await child.exited).toBe(1);
  expect(reported).toContain('drain of n1 was stopped: the conductor begins nothing more of it\n→ n1 stays cordoned');
  expect(small.node('n1')?.spec).toMatchObject({ unschedulable: true });

  const drained = await baton('drain', 'n1', '--timeout', '120', '--grace-period', '2');
  expect([drained.exitCode, drained.stderr]).toEqual([0, expect.stringMatching(waiting)]);
  expect(drained.stdout).toContain('n1');
  expect(small.podsOn('n1')).toEqual([]);
});

test('refusals are told as the conductor has them, with exit code 1', async () => {
  const times = await baton('drain', 'n1', '--timeout', '5', '--grace-period', '5');
  expect([times.exitCode, times.stdout]).toEqual([1, '']);
  expect(times.stderr).toMatch(/grace-period/);
  const stranger = await baton('clear-labels', 'n9');
  expect([stranger.exitCode, stranger.stderr]).toEqual([1, expect.stringContaining('n9')]);
  const design = await baton('remove-etcd', 'n1', '--design', '99');
  expect([design.exitCode, design.stderr]).toEqual([1, expect.stringContaining('Revision 99 could not be found')]);
  const etcd = await baton('etcd-health', '--design', 'committed');
  expect([etcd.exitCode, etcd.stderr]).toEqual([1, expect.stringContaining('has no promenade/EtcdClusters/v1')]);
});

test("without a kubeconfig it is refused, with the setting's name and nothing of going on", async () => {
  const bare = await startConductorInProcess({ log: silentLog });
  const env = { BATON_URL: bare.url };
  for (const verb of ['drain', 'remove-from-cluster']) {
    const refused = await run(batonProgram, [verb, 'n1'], { env, okExitCodes: [1] });
    const why = 'this conductor knows no Kubernetes cluster: set BATON_KUBECONFIG to a kubeconfig file';
    // a machine that takes longer than a second for it says first that it waits
    expect([refused.stdout, refused.stderr.split('\n').slice(-2)]).toEqual(['', [`baton: teardown of n1: ${why}`, '']]);
  }
  await bare.close();
});

test('a node is taken out of its cluster step by step', async () => {
  const early = await baton('remove-from-cluster', 'n2');
  expect([early.exitCode, early.stderr]).toEqual([1, expect.stringContaining('n2')]);
  const decommissioned = await baton('decommission', 'n1', '--design', 'committed', '--apply-daemon-set');
  expect([decommissioned.exitCode, decommissioned.stderr]).toEqual([0, expect.stringMatching(perhapsWaiting)]);
  expect(decommissioned.stdout).toContain('Node n1 is decommissioned');
  const removed = await baton('remove-from-cluster', 'n1', '-o', 'json');
  expect(JSON.parse(removed.stdout)).toMatchObject({ kind: 'Status', status: 'Success' });
  expect(small.node('n1')).toBeUndefined();
});

test("a node's etcd members leave their clusters; done again it is done", async () => {
  const gateway = await startGateway(['elsewhere']);
  // a learner may go whatever the others are doing
  gateway.state.members.push({ ID: '2', name: 'n1', isLearner: true });
  const data = JSON.stringify({
    clusters: [{ name: 'control', endpoints: [gateway.url], minimum_members: 1, members: [{ name: 'elsewhere' }] }],
  });
  const etcd = `---\nschema: promenade/EtcdClusters/v1\nmetadata: {schema: metadata/Document/v1, name: etcd}\ndata: ${data}\n`;
  await createSiteOperator(conductor.url).commit('site', `${nodeDocument('n1')}${etcd}`);
  const removed = await baton('remove-etcd', 'n1', '--design', 'committed', '--timeout', '120');
  expect([removed.exitCode, removed.stderr]).toEqual([0, expect.stringMatching(perhapsWaiting)]);
  expect(removed.stdout).toContain('control');
  expect(gateway.state.members.map(({ name }) => name)).toEqual(['elsewhere']);
  const again = await baton('remove-etcd', 'n1', '--design', 'committed', '-o', 'json');
  expect(again.exitCode).toBe(0);
  expect(JSON.parse(again.stdout)).toMatchObject({ kind: 'Status', status: 'Success' });
  expect(gateway.asked.filter((path) => path.includes('/member/remove'))).toHaveLength(1);
  await gateway.close();
});
