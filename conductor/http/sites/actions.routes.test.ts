import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createApp } from '#conductor/http/app.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { siteActionNodes, siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';
import { siteOperations } from '#conductor/sites/actions/action-work.ts';
import { actionBecomes, forgetActions, hasEnded, startLife } from '#conductor/sites/actions/testing/action-lab.ts';
import { createWorld } from '#conductor/sites/actions/testing/site-world.ts';
import { addAvailableNode } from '#test/support/available-node.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

const airship = '/api/v1.0';
const yaml = { 'Content-Type': 'application/x-yaml' };

let api: TestApi;
let app: ReturnType<typeof createApp>;
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_SITE_BEAT_INTERVAL: '0.02' } });
  app = createApp(api.context);
});
beforeEach(async () => {
  await forgetActions(api.context);
  await api.context.db.delete(nodes);
});
afterAll(() => api.close());

const commit = async (text: string) => {
  await api.call('POST', `${airship}/configdocs/nodes?buffermode=replace`, text, '', yaml);
  const answer = await api.call('POST', `${airship}/commitconfigdocs`, undefined, '');
  expect(answer.status).toBe(200);
};
const twoNodes = `${nodeDocument('n1')}---\n${nodeDocument('n2')}`;
const start = (name: string, parameters: Record<string, unknown> = {}, query = '') =>
  api.call('POST', `${airship}/actions${query}`, { name, parameters }, '');
const show = async (id: string, more = '') =>
  (await api.call('GET', `${airship}/actions/${id}${more}`, undefined, '')).body;
const list = async (query = '') => {
  const answer = await app.request(`http://api.example${airship}/actions${query}`);
  return (await answer.json()) as Record<string, unknown>[];
};
const control = (id: string, verb: string) =>
  api.call('POST', `${airship}/actions/${id}/control/${verb}`, undefined, '');
const idOf = ({ body }: { body: Record<string, unknown> }) => String(body['id']);

describe('an action is refused', () => {
  test('by its name or parameters, with those that there are', async () => {
    await commit(twoNodes);
    const unknown = await start('deploy_world');
    expect(unknown).toMatchObject({ status: 400, body: { kind: 'Status', status: 'Failure', code: 400 } });
    expect(unknown.fault).toContain('must be one of deploy_site, update_site');
    expect((await start('deploy_site', { target_nodes: ['n1'] })).fault).toContain(
      'deploy_site has allow-intermediate',
    );
    expect((await start('deploy_site', { dry_run: 'perhaps' })).fault).toContain('parameters.dry_run: must be true or');
    expect((await start('relabel_nodes')).fault).toContain('parameters.target_nodes: relabel_nodes needs it');
    expect((await start('relabel_nodes', { target_nodes: [] })).fault).toContain('at least one');
    expect((await start('relabel_nodes', { target_nodes: [7] })).fault).toContain('target_nodes');
    expect((await start('relabel_nodes', { target_nodes: ['n1', 'n9'] })).fault).toContain('1: n9; there are n1, n2');
    expect(await list()).toEqual([]);
  });

  test('of a teardown: without the revision that it is to go back to, or for a node that it must not touch', async () => {
    await commit(twoNodes);
    const redeploy = (more: Record<string, unknown> = {}) =>
      start('redeploy_server', { target_nodes: ['n1'], ...more });
    const missing = await redeploy();
    expect(missing).toMatchObject({ status: 400, body: { reason: 'MissingPrecondition' } });
    expect(missing.fault).toContain(
      'no revision of successful-site-action for n1: no site action has succeeded for it yet',
    );
    expect((await redeploy({ 'target-revision': 'last-site-action' })).fault).toContain('no revision of last-site');
    expect((await redeploy({ 'target-revision': 'buffer' })).fault).toContain(
      'must be one of committed, successful-site',
    );
    const grace = await redeploy({ 'drain-node-timeout': '60', 'drain-node-grace-period': 60 });
    expect(grace.fault).toContain('must be less than drain-node-timeout, which is 60 s');
    expect((await start('redeploy_server', { 'server-name': 'n9', 'target-revision': 'committed' })).fault).toContain(
      'not in the documents of revision 1: n9',
    );
    const { db } = api.context;
    const uuid = await addAvailableNode(db, 'n1');
    const committed = { 'target-revision': 'committed', 'preserve-local-storage': true };
    for (const [change, why] of [
      [{ owner: 'team-a' }, 'n1: it belongs to team-a'],
      [{ instanceUuid: uuid }, `n1: it has instance ${uuid}, which is not the site's`],
      [{ protected: true, protectedReason: 'ledger' }, 'n1: it is protected: ledger'],
      [{ retired: true }, 'n1: it is retired'],
      [{ maintenance: true, maintenanceReason: 'fan' }, 'n1: it is in maintenance: fan'],
      [{ owedWipe: { preserveLocalStorage: false } }, 'n1: it owes a wipe of all its disks'],
      [{ owedWipe: { preserveLocalStorage: true } }, 'which its deploy_interface fake does not do'],
    ] as const) {
      const whose = { owner: null, instanceUuid: null, owedWipe: null };
      const none = { ...whose, protected: false, retired: false, maintenance: false };
      await db
        .update(nodes)
        .set({ ...none, ...change })
        .where(eq(nodes.uuid, uuid));
      const refused = await redeploy(committed);
      expect([refused.status, refused.body['reason'], refused.fault]).toEqual([
        409,
        'NodesNotForTeardown',
        expect.stringContaining(why),
      ]);
    }
    expect((await start('teardown_server', { target_nodes: 'n2' })).fault).toContain('n2: it is not enrolled');
    expect(await list()).toEqual([]);
    const removedBefore = await start('teardown_server', { target_nodes: 'n2', 'remove-node': true });
    expect([removedBefore.status, removedBefore.fault]).toEqual([201, undefined]);
  });

  test('that can only fail, as its dry run says in the same words, before anything is done', async () => {
    const real = (name: string, mac: string) => `---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: ${name}}
data: {oob: {type: redfish, address: 'https://${name}.example'}, interfaces: {eth0: {mac: '${mac}'}}}
`;
    await commit(`${real('n1', '52:54:00:00:00:01')}${real('n2', '52:54:00:00:00:02')}`);
    const plan = await start('deploy_site', { dry_run: true });
    const why =
      'n1: its document has no platform.image, or only a name that no baton/Images/v1 explains: there is nothing to deploy';
    expect(plan.body['remarks']).toContain(why.replace('n1:', 'n1 would fail, untouched:'));
    expect(plan.body['refused']).toContain(why);
    const refused = await start('deploy_site');
    expect([refused.status, refused.body['reason'], refused.fault]).toEqual([
      409,
      'NodesNotDeployable',
      `deploy_site not started: ${String(plan.body['refused'])}`,
    ]);
    const redeploy = { target_nodes: 'n1', 'target-revision': 'committed' };
    const shown = await start('redeploy_server', { ...redeploy, dry_run: true });
    expect(shown.body['nodes']).toMatchObject([{ refused: why.replace('n1: ', '') }]);
    const again = await start('redeploy_server', redeploy);
    expect([again.status, again.fault]).toEqual([409, `redeploy_server not started: ${why}`]);
    // a node that no criterion needs
    await commit(`${nodeDocument('n1')}${real('n2', '52:54:00:00:00:02')}---
schema: shipyard/DeploymentStrategy/v1
metadata: {schema: metadata/Document/v1, name: deployment-strategy}
data: {groups: [{name: all, critical: true, depends_on: [], selectors: [], success_criteria: {maximum_failed_nodes: 1}}]}
`);
    const once = { 'allow-intermediate-commits': true };
    const one = await start('deploy_site', { dry_run: true, ...once });
    expect([one.body['remarks'], one.body['refused']]).toEqual([[expect.stringMatching(/^n2 would fail/)], undefined]);
    expect((await start('deploy_site', once)).status).toBe(201);
  });

  test("with the times of the site's documents where none are given, which the plan says", async () => {
    await commit(`${twoNodes}---
schema: shipyard/DeploymentConfiguration/v1
metadata: {schema: metadata/Document/v1, name: deployment-configuration}
data:
  physical_provisioner: {join_wait: 0, prepare_site_timeout: 300}
  kubernetes: {node_status_timeout: 900}
  kubernetes_provisioner: {drain_timeout: 300, drain_grace_period: 20, etcd_ready_timeout: 40}
`);
    await addAvailableNode(api.context.db, 'n1');
    const redeploy = (more: Record<string, unknown>) =>
      start('redeploy_server', { target_nodes: 'n1', 'target-revision': 'committed', ...more });
    const { body } = await redeploy({ 'drain-node-timeout': 60, dry_run: true });
    expect(body['remarks']).toContain(
      "from the site's DeploymentConfiguration: drain-node-grace-period=20, etcd-ready-timeout=40, join_wait=0, node_status_timeout=900",
    );
    const short = await redeploy({ 'drain-node-timeout': 20, dry_run: true });
    expect(short.body['remarks']).toContain(
      "from the site's DeploymentConfiguration: etcd-ready-timeout=40, join_wait=0, node_status_timeout=900",
    );
    expect((await start('deploy_site', { dry_run: true })).body['remarks']).toEqual([
      "from the site's DeploymentConfiguration: join_wait=0, node_status_timeout=900",
    ]);
    expect((await redeploy({ 'drain-node-grace-period': 300 })).fault).toContain('is 300 s, and must be less than');
    const action = await redeploy({ 'drain-node-timeout': 60 });
    expect(action.body['parameters']).toMatchObject({ 'drain-node-timeout': 60, 'drain-node-grace-period': 20 });
  });

  test('never, when it is only asked what a teardown would do', async () => {
    await commit(twoNodes);
    await addAvailableNode(api.context.db, 'n1');
    await api.context.db.update(nodes).set({ lastError: 'its BMC is silent' }).where(eq(nodes.name, 'n1'));
    const { status, body } = await start('redeploy_server', {
      target_nodes: 'n1,n2',
      'target-revision': 'committed',
      'preserve-local-storage': 'true',
      dry_run: true,
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      dry_run: true,
      committed_rev_id: 1,
      groups: [
        { name: 'n1', critical: true, depends_on: [], members: ['n1'] },
        { name: 'n2', critical: true, depends_on: ['n1'], members: ['n2'] },
      ],
      nodes: [
        {
          name: 'n1',
          provision_state: 'available',
          refused: null,
          steps: [
            { step: 'wipe', does: 'simulated (deploy_interface fake): no disk is touched, no receipt' },
            { step: 'prepare' },
            { step: 'deploy' },
          ],
        },
        { name: 'n2', provision_state: null },
      ],
      remarks: [
        "in the way now: n1 is in 'available': its BMC is silent",
        expect.stringContaining('no BATON_KUBECONFIG'),
        expect.stringContaining('no promenade/EtcdClusters'),
      ],
    });
    expect(await list()).toEqual([]);
  });

  test('without committed documents', async () => {
    expect(await start('deploy_site')).toMatchObject({
      status: 400,
      body: { reason: 'NoCommittedConfigdocs', message: expect.stringContaining('No committed configdocs') as unknown },
    });
  });

  test('with commits that no action has used, which it names, unless told otherwise', async () => {
    await commit(nodeDocument('n1'));
    await commit(twoNodes);
    const refused = await start('deploy_site');
    expect(refused).toMatchObject({ status: 409, body: { reason: 'IntermediateCommits' } });
    expect(refused.fault).toContain('revision 1 between the last site action and revision 2');
    expect((await start('verify_site')).status).toBe(201);
    await api.context.db.delete(siteActions);
    expect((await start('deploy_site', {}, '?allow-intermediate-commits=true')).status).toBe(201);
    await api.context.db.delete(siteActions);
    const allowed = await start('deploy_site', { 'allow-intermediate-commits': 'true' });
    expect(allowed).toMatchObject({ status: 201, body: { allow_intermediate_commits: true, committed_rev_id: 2 } });
    expect(JSON.stringify(allowed.body['notes'])).toContain('the check for intermediate commits is skipped');
  });

  test('while another is under way, at once and with its name; of many at once one is made', async () => {
    await commit(twoNodes);
    const answers = await Promise.all(Array.from({ length: 8 }, () => start('deploy_site')));
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(1);
    const [first] = made;
    if (!first) throw new Error('none was made');
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused).toHaveLength(7);
    for (const { fault } of refused) expect(fault).toContain(`deploy_site ${idOf(first)} is under way (running)`);
    // one that changes nothing runs beside it, and one of those at a time, too
    const looks = await Promise.all(Array.from({ length: 4 }, () => start('verify_site')));
    const [look, ...more] = looks.filter(({ status }) => status === 201);
    expect(more).toEqual([]);
    const [late] = looks.filter(({ status }) => status === 409);
    expect(late?.fault).toContain(`verify_site not started: verify_site ${look && idOf(look)} is under way`);
    expect((await start('relabel_nodes', { target_nodes: ['n1'] })).fault).toContain(`deploy_site ${idOf(first)}`);
  });
});

test('what is made is shown as Shipyard shows it', async () => {
  await commit(twoNodes);
  const marker = '5f6a7c1e-3c8d-4c4e-9d9b-0d6f5b7f2a11';
  const made = await api.call('POST', `${airship}/actions`, { name: 'deploy_site' }, '', {
    'X-Context-Marker': marker,
  });
  const id = idOf(made);
  expect(made.status).toBe(201);
  expect(made.headers.get('location')).toBe(`http://api.example${airship}/actions/${id}`);
  expect(made.body).toMatchObject({
    name: 'deploy_site',
    parameters: {},
    context_marker: marker,
    committed_rev_id: 1,
    dag_id: 'baton_deploy_site',
    dag_status: 'SCHEDULED',
    action_lifecycle: 'Pending',
    notes: [{ text: 'Configdoc revision 1', verbosity: 1 }],
    command_audit: [{ command: 'invoke' }],
  });
  const steps = made.body['steps'] as Record<string, unknown>[];
  expect(steps[0]).toMatchObject({
    id: 'preflight',
    index: 1,
    url: `/actions/${id}/steps/preflight`,
    state: 'pending',
  });
  expect(await show(id, '/steps/verify_site')).toMatchObject({ id: 'verify_site', index: 3 });
  expect((await api.call('GET', `${airship}/actions/${id}/steps/dance`, undefined, '')).fault).toContain('preflight');
  expect((await api.call('GET', `${airship}/actions/${id}?verbosity=6`, undefined, '')).status).toBe(400);
  expect((await api.call('GET', `${airship}/actions/nope`, undefined, '')).status).toBe(404);
  expect((await api.call('GET', `${airship}/workflows`, undefined, '')).fault).toContain('no workflow engine');
  expect(await list('?verbosity=0')).toMatchObject([{ id, notes: [] }]);
});

test('lists have the newest first, in pages', async () => {
  await commit(twoNodes);
  const ids: string[] = [];
  for (const name of ['verify_site', 'deploy_site', 'verify_site']) {
    ids.unshift(idOf(await start(name)));
    await api.context.db.update(flows).set({ endedAt: new Date(), state: 'succeeded' });
    // ULIDs sort by the millisecond
    const made = Date.now();
    while (Date.now() === made);
  }
  expect((await list()).map(({ id }) => id)).toEqual(ids);
  expect((await list('?limit=2')).map(({ id }) => id)).toEqual(ids.slice(0, 2));
  expect((await list(`?marker=${ids[1]}`)).map(({ id }) => id)).toEqual(ids.slice(2));
  await api.context.db.update(flows).set({ endedAt: null }).where(eq(flows.kind, 'deploy_site'));
  expect((await list('?open=true')).map(({ id }) => id)).toEqual([ids[1]]);
  expect((await list('?open=false')).map(({ id }) => id)).toEqual([ids[0], ids[2]]);
});

test('a dry run tells the groups and their nodes, and makes nothing', async () => {
  await commit(twoNodes);
  const { status, body } = await start('deploy_site', { dry_run: true });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    dry_run: true,
    committed_rev_id: 1,
    groups: [{ name: 'default', members: ['n1', 'n2'] }],
  });
  expect(await list()).toEqual([]);
});

test('control: wanted, audited, and refused in the wrong state', async () => {
  await commit(twoNodes);
  const id = idOf(await start('deploy_site'));
  expect((await control('nope', 'dance')).status).toBe(404);
  expect((await control(id, 'dance')).fault).toContain('pause, unpause, skip, stop');
  expect((await control(id, 'unpause')).status).toBe(409);
  expect((await control(id, 'pause')).status).toBe(202);
  expect(await show(id)).toMatchObject({ action_lifecycle: 'Paused' });
  expect((await control(id, 'pause')).status).toBe(409);
  expect((await control(id, 'stop')).status).toBe(202);
  expect(await show(id)).toMatchObject({
    action_lifecycle: 'Stopping',
    runner: null,
    command_audit: [{ command: 'invoke' }, { command: 'pause' }, { command: 'stop' }],
  });
});

test('what a runner makes of it is seen: groups, nodes, notes, logs, metrics', async () => {
  await commit(twoNodes);
  const id = idOf(await start('deploy_site'));
  const world = createWorld(api.context.db, { site: () => undefined });
  const meanwhile: Awaited<ReturnType<typeof show>>[] = [];
  const advanceNodes: typeof world.operations.advanceNodes = async (...work) => {
    meanwhile.push(await show(id, ''));
    return world.operations.advanceNodes(...work);
  };
  const life = startLife(api.context, { ...siteOperations, advanceNodes }, { name: 'a' });
  await actionBecomes(api.context, id, hasEnded);
  await life.stop();
  expect(meanwhile.at(-1)).toMatchObject({
    action_lifecycle: 'Processing',
    dag_status: 'running',
    started_at: expect.any(String),
  });
  const shown = await show(id, '?verbosity=5');
  const times = { started_at: expect.any(String), start_date: expect.any(String), duration: expect.any(Number) };
  expect(shown).toMatchObject({ started_at: expect.any(String), dag_execution_date: shown['started_at'] });
  expect(shown['steps']).toEqual((shown['steps'] as object[]).map(() => expect.objectContaining(times)));
  expect(shown).toMatchObject({
    action_lifecycle: 'Complete',
    dag_status: 'success',
    groups: [{ name: 'default', critical: true, stage: 'success', nodes_by_status: { success: 2, failure: 0 } }],
  });
  const nodes = await show(id, '/nodes?status=success&group=default');
  expect(nodes['nodes']).toMatchObject([
    { name: 'n1', status: 'success', phase: null, group: 'default' },
    { name: 'n2' },
  ]);
  expect(await show(id, '/nodes?working=true')).toEqual({ nodes: [] });
  // what is told of a node is data, and in words beside it
  const remark = newRemark('outdated', { revision: 3, differs: ['driver'] });
  await api.context.db.update(siteActionNodes).set({ reason: remark }).where(eq(siteActionNodes.name, 'n1'));
  // as an earlier release has stored it
  await api.context.db.execute(sql`update site_action_nodes set reason = 'it was so' where name = 'n2'`);
  expect(await show(id, '/nodes')).toMatchObject({
    nodes: [
      { remark: { ...remark, subject: 'n1' }, reason: describeRemark(remark), doing: null },
      { remark: { code: 'text', subject: 'n2', arguments: { text: 'it was so' } }, reason: 'it was so' },
    ],
  });
  expect(shown).toMatchObject({ runner: null, groups: [{ member_count: 2, waiting_for: [] }] });
  expect((shown['groups'] as object[])[0]).not.toHaveProperty('members');
  expect(await show(id, '?members=true')).toMatchObject({ groups: [{ members: ['n1', 'n2'] }] });
  const notes = shown['notes'] as { note_id: string; text: string }[];
  expect(notes.length).toBeGreaterThan(1);
  const newer = await show(id, `?verbosity=5&since=${notes[0]?.note_id}`);
  expect(newer['notes']).toEqual(notes.slice(1));
  expect((await api.call('GET', `${airship}/actions/${id}?since=x`, undefined, '')).status).toBe(400);
  const logs = await app.request(`http://api.example${airship}/actions/${id}/steps/baremetal_nodes/logs`);
  expect(await logs.text()).toMatch(/ default: prepare begins on 2 nodes: n1, n2\n[^]* n1: is deployed\n/);
  const metrics = await (await app.request('http://api.example/metrics')).text();
  expect(metrics).toContain('baton_site_actions{action="deploy_site",state="succeeded"} 1');
});

test('site statuses are what is known of the nodes', async () => {
  await addAvailableNode(api.context.db, 'n1');
  const ask = (filters: string) => api.call('GET', `${airship}/site_statuses?filters=${filters}`, undefined, '');
  expect((await ask('nodes-provision-status,machines-power-state')).body).toEqual({
    nodes_provision_status: [{ hostname: 'n1', status: 'available' }],
    machines_powerstate: [{ hostname: 'n1', power_state: expect.anything() as unknown }],
  });
  expect(Object.keys((await ask('machines-power-state')).body)).toEqual(['machines_powerstate']);
  expect((await ask('weather')).fault).toContain('must be of nodes-provision-status');
});
