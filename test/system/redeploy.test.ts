import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import type { ActionAnswer } from '#conductor/api/actions.ts';
import { openCluster } from '#conductor/cluster/kubernetes/client/open-cluster.ts';
import { applyDaemonSet } from '#conductor/cluster/kubernetes/daemon-sets.ts';
import { type RunResult, run } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type Kubelets, startKubelets } from '#test/simulators/kubernetes/kubelets.ts';
import { newNode } from '#test/simulators/kubernetes/scene.ts';
import { type SmallCluster, startSmallCluster } from '#test/simulators/kubernetes/small-cluster.ts';
import { stopSeconds } from '#test/simulators/kubernetes/world.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { type EtcdTestCluster, startEtcd } from '#test/support/etcd.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { batonProgram } from '#test/support/programs.ts';
import { bmcCredential, type SimulatedSite, siteDocument, startSimulatedSite } from '#test/support/simulated-site.ts';
import { createSiteOperator, type SiteOperator } from '#test/support/site-operator.ts';

/**
 * Seed 001 whole: a conductor as it ships, machines over the full protocol, three real etcd members, and the simulated
 * Kubernetes. n1 and n2 are the site's, n3 is not.
 */

const etcdNames = ['n1', 'n2', 'n3'];
let etcd: EtcdTestCluster;
let small: SmallCluster;
let conductor: ConductorProcess;
let operator: SiteOperator;
let ironic: Operator;
let site: SimulatedSite;
let kubelets: Kubelets;

const quick = { 'drain-node-timeout': 60, 'drain-node-grace-period': 2, 'etcd-ready-timeout': 120 };

beforeAll(async () => {
  [etcd, small] = await Promise.all([startEtcd(etcdNames), startSmallCluster()]);
  small.simulator.store.create('nodes', newNode('n3'));
  const cluster = await openCluster(small.kubeconfigFile);
  await applyDaemonSet(cluster, undefined, AbortSignal.timeout(10_000));
  await cluster.close();
  conductor = await prepareConductor({
    BATON_KUBECONFIG: small.kubeconfigFile,
    BATON_ETCD_TLS_DIR: etcd.tlsDirectory,
    BATON_LEASE_SECONDS: '2',
    BATON_RECONCILE_INTERVAL: '0.5',
  });
  await conductor.start();
  operator = createSiteOperator(conductor.url);
  ironic = createOperator(conductor.url);
  const members = ['n1', 'n2'].map((name) => ({ name, rack: 'rack01', tags: [] }));
  site = await startSimulatedSite(members, {
    conductorUrl: () => conductor.url,
    stepMs: 200,
    moreDisks: [{ name: '/dev/sdb', serial: 'DATA-1' }],
  });
  // the image's business: the machine joins its clusters when it has booted
  kubelets = startKubelets(small.simulator, site.machines, { onJoin: (name) => void rejoinEtcd(name) });
  const { name, endpoints, tls } = etcd.describe();
  const clusters = siteDocument('promenade/EtcdClusters/v1', 'etcd', {
    clusters: [{ name, endpoints, tls, minimum_members: 1, members: [{ name: 'n3' }] }],
  });
  await operator.setCredential(bmcCredential.name, bmcCredential.account);
  await operator.commit('site', [site.documents, clusters].join('---\n'));
});
beforeEach(() => {
  onTestFailed(() => void process.stderr.write(conductor.log().slice(-6000)));
});
afterAll(async () => {
  kubelets?.close();
  await site?.close();
  await conductor?.close();
  await Promise.all([etcd?.close(), small?.close()]);
});

async function rejoinEtcd(name: string): Promise<void> {
  if (!(await members()).includes(name)) await etcd.add(name);
}
async function members(): Promise<string[]> {
  const listed = JSON.parse(await etcd.etcdctl('member', 'list', '-w', 'json')) as { members: { name: string }[] };
  return listed.members.map((member) => member.name).toSorted();
}
const instanceOf = async (name: string) => (await ironic.node(name))['instance_uuid'];
const report = (action: ActionAnswer) =>
  (action.steps.find(({ id }) => id === 'final_report')?.notes ?? []).map(({ subject, text }) => ({ subject, text }));
const doingOf = async (id: string, name: string) =>
  (await operator.actionNodes(id)).find((node) => node.name === name)?.doing ?? '';
const untilDoing = (id: string, name: string, pattern: RegExp) =>
  waitUntil(`${name} to be ${pattern}`, async () => pattern.test(await doingOf(id, name)) || undefined, {
    everyMs: 50,
  });
/** Whether it was seen in such a flow; false = one that comes later, or the end, was seen before. */
const untilFlow = (id: string, name: string, kind: string): Promise<boolean> =>
  waitUntil(
    `${name} to be in ${kind}`,
    async () => {
      if ((await operator.action(id)).ended_at !== null) return { isIn: false };
      const flow = await ironic.call('GET', `/v1/nodes/${name}/flow`);
      const order = ['decommission', 'teardown', 'wipe', 'leave_cluster', 'deploy'];
      const at = order.indexOf(String(flow['kind']));
      const isOver = flow['ended_at'] !== null;
      if (at > order.indexOf(kind) && !isOver) return { isIn: false };
      return flow['kind'] === kind && !isOver ? { isIn: true } : undefined;
    },
    { everyMs: 20 },
  ).then(({ isIn }) => isIn);

test('without a site action that has succeeded there is nothing to go back to', async () => {
  const refused = operator.createAction('redeploy_server', { target_nodes: ['n1'] });
  await expect(refused).rejects.toThrow(/answered 400.*MissingPrecondition/s);
  const id = await operator.createAction('deploy_site');
  expect(await operator.waitForEnd(id)).toMatchObject({ action_lifecycle: 'Complete' });
});

test('the plan says what will be done, to which disks and members', async () => {
  const plan = await operator.call<Record<string, unknown>>('POST', '/actions', {
    name: 'redeploy_server',
    parameters: { target_nodes: 'n1,n2', 'preserve-local-storage': 'true', dry_run: true },
  });
  expect(plan).toMatchObject({
    committed_rev_id: 1,
    nodes: [
      {
        name: 'n1',
        provision_state: 'active',
        refused: null,
        kubernetes: { is_member: true, ready: true, cordoned: false },
        etcd: [{ members: ['n1'] }],
        steps: [
          {
            step: 'cluster.drain',
            timeout: 3600,
            on_failure: expect.stringContaining('kubectl uncordon n1') as unknown,
          },
          { step: 'cluster.clear_labels', timeout: 1800 },
          { step: 'cluster.remove_etcd', timeout: 1800 },
          { step: 'cluster.wait_for_etcd', timeout: 600 },
          { step: 'cluster.shutdown_kubelet' },
          { step: 'deleted' },
          { step: 'wipe' },
          { step: 'cluster.remove_node' },
          { step: 'prepare' },
          { step: 'deploy' },
          { step: 'cluster.wait_until_ready', timeout: 1920 },
          { step: 'cluster.wait_for_members', timeout: 600 },
        ],
      },
      { name: 'n2' },
    ],
    remarks: [],
  });
});

test('a drain that never ends: stopped it leaves the node in service, and says what is to be done by hand', async () => {
  const before = await instanceOf('n1');
  small.addPod({ name: 'stuck', node: 'n1', finalizers: ['example.org/never'] });
  await small.settle();
  const id = await operator.createAction('redeploy_server', { target_nodes: ['n1', 'n2'] });
  await untilDoing(id, 'n1', /drain.*waiting for/);
  await operator.control(id, 'stop');
  const stopped = await operator.waitForEnd(id);
  expect(stopped).toMatchObject({ action_lifecycle: 'Stopped' });
  const reported = report(stopped);
  expect(reported).toContainEqual({ subject: 'n1', text: expect.stringContaining('kubectl uncordon n1') as unknown });
  expect(reported).toContainEqual({
    subject: 'n2',
    text: expect.stringContaining('nothing was done to it') as unknown,
  });
  expect(await ironic.node('n1')).toMatchObject({
    provision_state: 'active',
    instance_uuid: before,
    maintenance: false,
  });
  expect(small.node('n1')?.spec).toMatchObject({ unschedulable: true });

  const late = await operator.createAction('redeploy_server', {
    target_nodes: ['n1', 'n2'],
    ...quick,
    'drain-node-timeout': 10,
  });
  const failed = await operator.waitForEnd(late);
  expect(failed).toMatchObject({ action_lifecycle: 'Failed', error: expect.stringContaining('n1') as unknown });
  expect(report(failed)).toContainEqual({ subject: 'n1', text: expect.stringMatching(/failed: .*stuck/) as unknown });
  await expect.poll(members).toEqual(etcdNames);
  expect(site.machines.get('n1')?.disk.some((entry) => entry.startsWith('erase_devices '))).toBe(false);
  const pod = small.podsOn('n1').find(({ metadata }) => metadata.name === 'stuck');
  if (pod) small.simulator.store.remove('pods', pod);
  const node = small.node('n1');
  if (node) small.simulator.store.replace('nodes', { ...node, spec: {} });
});

test('killed in every phase, with the API server away meanwhile, it is redeployed, and nothing is done twice', async () => {
  const before = await instanceOf('n1');
  const machine = site.machines.get('n1');
  const sofar = machine?.disk.length ?? 0;
  await small.addSet('web', 4, { [stopSeconds]: '1' });
  await etcd.moveLeader('n1');
  /** The machine's next such step lasts until it is let go. */
  const hold = (step: string): (() => void) => {
    const { promise: until, resolve } = Promise.withResolvers<void>();
    if (machine) machine.faults.slowStep = { step, until };
    return resolve;
  };
  // so that these flows are seen, and the conductor dies amid them
  const letGo = { wipe: hold('erase_devices'), deploy: (): void => undefined };
  const id = await operator.createAction('redeploy_server', { target_nodes: ['n1'], ...quick });
  const killedIn: string[] = [];
  for (const kind of ['decommission', 'teardown', 'wipe', 'leave_cluster', 'deploy']) {
    const isIn = await untilFlow(id, 'n1', kind);
    if (!isIn) continue;
    if (kind === 'wipe') await untilDoing(id, 'n1', /erase_devices|wipe_disks/);
    killedIn.push(kind);
    if (kind === 'decommission') small.simulator.goDown();
    await conductor.kill('SIGKILL');
    await conductor.start();
    if (kind === 'decommission') small.simulator.comeBack();
    if (kind === 'wipe') {
      letGo.deploy = hold('write_image');
      letGo.wipe();
    }
  }
  letGo.deploy();
  // the others may have been over between two looks
  expect(killedIn).toEqual(expect.arrayContaining(['decommission', 'wipe', 'deploy']));
  const ended = await operator.waitForEnd(id);
  expect(ended).toMatchObject({ action_lifecycle: 'Complete', committed_rev_id: 1 });
  expect(await instanceOf('n1')).not.toBe(before);
  expect(await ironic.node('n1')).toMatchObject({ provision_state: 'active' });
  expect(small.node('n1')?.spec).not.toMatchObject({ unschedulable: true });
  expect(await members()).toEqual(etcdNames);
  const did = machine?.disk.slice(sofar) ?? [];
  expect(did.filter((entry) => entry.startsWith('erase_devices '))).toHaveLength(1);
  expect(did.filter((entry) => entry.startsWith('write_image'))).toHaveLength(1);
  expect(did.find((entry) => entry.startsWith('erase_devices '))).toContain('DATA-1');
  const { receipts } = await operator.call<Record<string, unknown>>('GET', '/receipts?node=n1');
  expect(receipts).toMatchObject([{ site_action: id, disks_wiped: 2, disks_left_alone: 0 }]);
  const tag = await operator.call('GET', '/revisions/1/tags/site-action-success');
  expect(tag).toMatchObject({
    'site-action-success': {
      action: id,
      dag_id: `baton_redeploy_server.${id}`,
      flow: { n1: expect.any(String) as unknown },
    },
  });
});

const baton = (...args: string[]): Promise<RunResult> =>
  run(batonProgram, args, { env: { BATON_URL: conductor.url }, okExitCodes: [0, 1], timeoutMs: 300_000 });

test('stopped while it is wiped, a node is never available, and its operator is told', async () => {
  const machine = site.machines.get('n2');
  if (machine) machine.faults.slowStep = { step: 'erase_devices', ms: 900_000 };
  const reported = Object.entries({ target_nodes: 'n2', ...quick }).flatMap(([name, value]) => [
    '--param',
    `${name}=${value}`,
  ]);
  const plan = await baton('action', 'create', 'redeploy_server', ...reported, '--dry-run');
  expect(plan).toMatchObject({ exitCode: 0, stderr: '' });
  expect(plan.stdout).toContain('1. n2 (active)');
  expect(plan.stdout).toContain('serial DATA-1');
  expect(plan.stdout).toContain('by hand: kubectl delete node n2');
  const id = await operator.createAction('redeploy_server', { target_nodes: ['n2'], ...quick });
  await untilFlow(id, 'n2', 'wipe');
  await untilDoing(id, 'n2', /wipe_disks/);
  await operator.control(id, 'stop');
  expect(await operator.waitForEnd(id)).toMatchObject({ action_lifecycle: 'Stopped' });
  expect(await ironic.node('n2')).toMatchObject({ provision_state: 'clean failed', instance_uuid: null });
  expect((await baton('action', 'show', id)).stdout).toContain('by hand: the disks of n2 may still be readable');
  expect(await operator.call<Record<string, unknown>>('GET', '/receipts?node=n2')).toMatchObject({ receipts: [] });
  if (machine) delete machine.faults.slowStep;
});

test('two are redeployed one after another, their data disks are let alone', async () => {
  const preserving = { 'server-name': 'n1,n2', 'preserve-local-storage': 'true', ...quick };
  // the wipe of n2 that was broken off was one of all its disks, and is owed
  await expect(operator.createAction('redeploy_server', preserving)).rejects.toThrow(/n2: it owes a wipe of all/);
  // what the report of the stopped redeploy says is to be done by hand
  const left = small.node('n2');
  if (left) small.simulator.store.remove('nodes', left);
  const update = await operator.createAction('update_site');
  expect(await operator.waitForEnd(update)).toMatchObject({ action_lifecycle: 'Complete' });
  expect(site.machines.get('n2')?.disk.findLast((entry) => entry.startsWith('erase_devices '))).toContain('DATA-1');
  const done = new Map([...site.machines].map(([name, { disk }]) => [name, disk.length]));
  const id = await operator.createAction('redeploy_server', preserving);
  const nodes = await waitUntil(
    'n1 to be back',
    async () => {
      const all = await operator.actionNodes(id);
      const second = all.find(({ name }) => name === 'n2');
      return second?.phase === null || second?.phase === undefined ? undefined : all;
    },
    { timeoutMs: 300_000, everyMs: 50 },
  );
  expect(nodes.find(({ name }) => name === 'n1')).toMatchObject({ status: 'success' });
  expect(await operator.waitForEnd(id)).toMatchObject({ action_lifecycle: 'Complete' });
  for (const [name, { disk }] of site.machines) {
    const erased = disk.slice(done.get(name)).filter((entry) => entry.startsWith('erase_devices '));
    expect(erased).toHaveLength(1);
    expect(erased[0]).not.toContain('DATA-1');
  }
  expect(await members()).toEqual(etcdNames);
});

test('a server is torn down and forgotten', async () => {
  const id = await operator.createAction('teardown_server', { target_nodes: ['n2'], 'remove-node': true, ...quick });
  expect(await operator.waitForEnd(id)).toMatchObject({ action_lifecycle: 'Complete' });
  await expect(ironic.node('n2')).rejects.toThrow(/404/);
  expect(small.node('n2')).toBeUndefined();
  expect(site.machines.get('n2')?.state()).toMatchObject({ power: 'off' });
});

test('a node whose document has no image any more is not drained for it', async () => {
  await operator.commit('site', site.documents.replaceAll(/^ {2}platform:\n(?: {4}.*\n)+/gm, ''));
  const redeploy = { target_nodes: ['n1'], 'target-revision': 'committed', ...quick };
  const refused =
    'its document has no platform.image, or only a name that no baton/Images/v1 explains: there is nothing to deploy';
  const [node] = (
    await operator.call<{ nodes: { refused: string }[] }>('POST', '/actions?allow-intermediate-commits=true', {
      name: 'redeploy_server',
      parameters: { ...redeploy, dry_run: true },
    })
  ).nodes;
  expect(node).toMatchObject({ refused });
  await expect(operator.createAction('redeploy_server', redeploy)).rejects.toThrow(
    new RegExp(`answered 409.*n1: ${refused}`, 's'),
  );
  expect(small.node('n1')?.spec).not.toMatchObject({ unschedulable: true });
});
