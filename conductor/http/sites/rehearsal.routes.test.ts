import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { openApiCaller } from '#conductor/kernel/caller.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { planAction } from '#conductor/sites/actions/create-action.ts';
import { forgetActions } from '#conductor/sites/actions/testing/action-lab.ts';
import { readOrder } from '#conductor/sites/rehearsal/read-order.ts';
import { rehearseAction } from '#conductor/sites/rehearsal/rehearse-action.ts';
import { addAvailableNode } from '#test/support/available-node.ts';
import { nodeDocument } from '#test/support/site-documents.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

const airship = '/api/v1.0';
const yaml = { 'Content-Type': 'application/x-yaml' };

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await forgetActions(api.context);
  await api.context.db.delete(nodes);
});
afterAll(() => api.close());

const strategy = `---
schema: shipyard/DeploymentStrategy/v1
metadata: {schema: metadata/Document/v1, name: deployment-strategy}
data:
  groups:
    - {name: first, critical: true, depends_on: [], selectors: [{node_names: [n1]}], success_criteria: {percent_successful_nodes: 100}}
    - {name: rest, critical: false, depends_on: [first], selectors: [{node_names: [n2, n3]}], success_criteria: {percent_successful_nodes: 100}}
`;
const commit = async (text: string) => {
  await api.call('POST', `${airship}/configdocs/nodes?buffermode=replace`, text, '', yaml);
  expect((await api.call('POST', `${airship}/commitconfigdocs`, undefined, '')).status).toBe(200);
};
const threeNodes = ['n1', 'n2', 'n3'].map((name) => nodeDocument(name)).join('---\n') + strategy;
const rehearse = (query = '', name = 'deploy_site', parameters: Record<string, unknown> = {}) =>
  api.call('POST', `${airship}/actions?rehearse=true${query}`, { name, parameters }, '');
const start = (name: string, parameters: Record<string, unknown> = {}) =>
  api.call('POST', `${airship}/actions`, { name, parameters }, '');

/** A flow that took so long in each of its steps. */
async function recordFlow(
  node: string,
  kind: 'clean' | 'deploy',
  steps: readonly (readonly [step: string, seconds: number, state?: 'failed'])[],
) {
  const { db } = api.context;
  const uuid = crypto.randomUUID();
  const endedAt = new Date();
  const state = steps.some(([, , each]) => each === 'failed') ? 'failed' : 'succeeded';
  await db.insert(flows).values({ uuid, nodeUuid: node, kind, state, endedAt });
  await db.insert(flowSteps).values(
    steps.map(([step, seconds, stepState = 'succeeded'], position) => ({
      uuid: crypto.randomUUID(),
      flowUuid: uuid,
      phase: 'main' as const,
      position,
      interface: 'deploy',
      step,
      priority: 0,
      origin: 'core' as const,
      inBand: false,
      state: stepState as 'succeeded' | 'failed',
      startedAt: new Date(endedAt.getTime() - seconds * 1000),
      endedAt,
    })),
  );
}

/** Reads each table, but for the time of the conductor's own last beat. */
async function readTables(): Promise<Map<string, unknown>> {
  const { db } = api.context;
  const named = z.array(z.object({ table_name: z.string() }));
  const held = z.tuple([z.object({ held: z.unknown() })]);
  const names: unknown = await db.execute(
    sql`select table_name from information_schema.tables where table_schema = 'public' order by 1`,
  );
  const tables = new Map<string, unknown>();
  for (const { table_name: name } of named.parse(rowsOf(names))) {
    const rows: unknown = await db.execute(
      sql`select json_agg(row order by row::text) as held
        from (select to_jsonb(t) - ${name === 'conductors' ? 'updated_at' : ''}::text as row from ${sql.identifier(name)} t) as rows`,
    );
    tables.set(name, held.parse(rowsOf(rows))[0].held);
  }
  return tables;
}

type Times = { median_seconds: number; p90_seconds: number; is_assumed: boolean } | null;
const rehearsed = (body: Record<string, unknown>) =>
  body as unknown as {
    readonly ends: Times;
    readonly success_percent: number;
    readonly groups: { name: string; begins: Times; ends: Times; success_percent: number; begun_percent: number }[];
    readonly nodes: { name: string; flows: string[]; remark: string | null; ends: Times; failure_percent: number }[];
  };

test('a rehearsal says when groups and nodes begin and end, from recorded times, and which are assumed', async () => {
  await commit(threeNodes);
  const uuid = await addAvailableNode(api.context.db, 'n1');
  const before = await rehearse('&runs=5');
  expect(before.status).toBe(200);
  expect(before.body).toMatchObject({
    rehearsed: true,
    runs: 5,
    seed: 1,
    ends: { median_seconds: 1860, p90_seconds: 1860, is_assumed: true },
    most_out: { most: 2 },
    groups: [
      { name: 'first', begins: { median_seconds: 0, is_assumed: false } },
      { name: 'rest', member_count: 2 },
    ],
    nodes: [{ flows: ['deploy'] }, { flows: ['verify', 'clean', 'deploy'] }, {}],
    critical_path: [{ group: 'first', node: 'n1' }, { group: 'rest' }],
    durations: [
      { flow: 'deploy', basis: 'assumed', assumed_seconds: 600, nodes: 3 },
      { flow: 'verify', assumed_seconds: 60, nodes: 2 },
      { flow: 'clean', nodes: 2 },
    ],
  });
  for (const seconds of [100, 200]) await recordFlow(uuid, 'deploy', [['write_image', seconds]]);
  await recordFlow(uuid, 'clean', [['erase', 30]]);
  const after = rehearsed((await rehearse('&runs=50')).body);
  expect([100, 200]).toContain(after.groups[0]?.ends?.median_seconds);
  expect(after.groups[0]?.ends).toMatchObject({ p90_seconds: 200, is_assumed: false });
  // of the check of its BMC nothing is recorded
  expect(after.groups[1]?.ends?.is_assumed).toBe(true);
});

test('chances are those of what has failed before, and of what is asked to fail', async () => {
  await commit(threeNodes);
  const uuid = await addAvailableNode(api.context.db, 'n1');
  for (let count = 0; count < 7; count += 1) await recordFlow(uuid, 'deploy', [['write_image', 100]]);
  for (let count = 0; count < 3; count += 1) await recordFlow(uuid, 'deploy', [['write_image', 10, 'failed']]);
  const [first, rest] = rehearsed((await rehearse('&runs=1000')).body).groups;
  expect(first?.success_percent).toBeGreaterThan(60);
  expect(first?.success_percent).toBeLessThan(80);
  expect(rest?.begun_percent).toBe(first?.success_percent);
  const asked = rehearsed((await rehearse('&fail=n1@deploy.write_image')).body);
  expect(asked.groups.map(({ success_percent: percent }) => percent)).toEqual([0, 0]);
  expect([asked.success_percent, asked.nodes[0]?.failure_percent]).toEqual([0, 100]);
  const shared = rehearsed((await rehearse('&fail=100%25')).body);
  expect(shared.groups.map(({ success_percent: percent }) => percent)).toEqual([0, 0]);
  const { body: seventh } = await rehearse('&seed=7');
  expect((await rehearse('&seed=7')).body).toEqual(seventh);
  expect((await rehearse('&seed=8')).body).not.toEqual({ ...seventh, seed: 8 });
});

test('nodes in the way are foreseen as the engine decides about them now', async () => {
  await commit(threeNodes);
  const { db } = api.context;
  await addAvailableNode(db, 'n2', { maintenance: true, maintenanceReason: 'fan' });
  const { nodes: found, groups } = rehearsed((await rehearse()).body);
  expect(found.map(({ name, flows: begun, remark }) => [name, begun.length, remark])).toEqual([
    ['n1', 3, null],
    ['n2', 0, 'it is in maintenance: fan'],
    ['n3', 3, null],
  ]);
  expect(groups.map(({ success_percent: percent }) => percent)).toEqual([100, 0]);
  await db.update(nodes).set({ maintenance: false, owner: 'team-a' }).where(eq(nodes.name, 'n2'));
  expect(rehearsed((await rehearse()).body).nodes[1]?.remark).toBe('it belongs to team-a');
});

test('a rehearsed teardown begins its flows in their order, and nothing', async () => {
  await commit(threeNodes);
  await addAvailableNode(api.context.db, 'n1');
  const parameters = { target_nodes: 'n1', 'target-revision': 'committed' };
  const { body } = await rehearse('', 'redeploy_server', parameters);
  expect(body).toMatchObject({ name: 'redeploy_server', groups: [{ name: 'n1', success_percent: 100 }] });
  expect(rehearsed(body).nodes[0]?.flows).toEqual(['wipe', 'deploy']);
  const gone = await rehearse('', 'teardown_server', { target_nodes: 'n1', 'remove-node': true });
  expect(rehearsed(gone.body).nodes).toMatchObject([{ flows: ['wipe'], remark: expect.stringContaining('forgotten') }]);
});

test('it touches nothing: no table changes, and it is given no driver, agent or switch', async () => {
  await commit(threeNodes);
  const uuid = await addAvailableNode(api.context.db, 'n1');
  await recordFlow(uuid, 'deploy', [['write_image', 100]]);
  const before = await readTables();
  expect(before.size).toBeGreaterThan(40);
  api.nudged.length = 0;
  expect((await rehearse('&fail=5%25')).status).toBe(200);
  expect((await rehearse('', 'redeploy_server', { target_nodes: 'n1', 'target-revision': 'committed' })).status).toBe(
    200,
  );
  expect(await readTables()).toEqual(before);
  expect(api.nudged).toEqual([]);

  const { clock, config, conductors, database, db, log, secrets, drivers, networks } = api.context;
  const given = {
    clock,
    config,
    conductors,
    database,
    db,
    log,
    secrets,
    drivers: { hardwareTypes: drivers.hardwareTypes.map(({ name }) => ({ name })) },
    networks: { networks: networks.networks },
  };
  const action = { name: 'deploy_site', parameters: {}, caller: openApiCaller };
  // what it would need of the others it would miss here
  expect((await rehearseAction(given, { action, runs: 1, seed: 1, fail: [] })).success_percent).toBe(100);
});

test('what is read for it is read where PostgreSQL refuses to write', async () => {
  await commit(threeNodes);
  const { context } = api;
  const plan = await planAction(context, { name: 'deploy_site', parameters: {}, caller: openApiCaller });
  const transaction: typeof context.db.transaction = (work) =>
    context.db.transaction(async (tx) => {
      const read = await work(tx);
      await tx.execute(sql`update nodes set name = name`);
      return read;
    });
  const db = new Proxy(context.db, {
    get: (target, key) => (key === 'transaction' ? transaction : Reflect.get(target, key)),
  });
  await expect(readOrder({ ...context, db }, plan)).rejects.toMatchObject({
    cause: { message: 'cannot execute UPDATE in a read-only transaction' },
  });
});

test('what the action would be refused for, its rehearsal is refused for, in the same words', async () => {
  const same = async (name: string, parameters: Record<string, unknown> = {}) => {
    const [really, only] = [await start(name, parameters), await rehearse('', name, parameters)];
    expect([only.status, only.fault, only.body['reason']]).toEqual([
      really.status,
      really.fault,
      really.body['reason'],
    ]);
    expect(really.status).toBeGreaterThanOrEqual(400);
    return String(only.fault);
  };
  expect(await same('deploy_site')).toContain('No committed configdocs');
  await commit(threeNodes);
  expect(await same('deploy_world')).toContain('must be one of deploy_site');
  expect(await same('deploy_site', { target_nodes: ['n1'] })).toContain('has no such parameter');
  expect(await same('redeploy_server', { target_nodes: 'n9', 'target-revision': 'committed' })).toContain('n9');
  expect(await same('redeploy_server', { target_nodes: 'n1' })).toContain('no revision of successful-site-action');
  await addAvailableNode(api.context.db, 'n1', { protected: true });
  expect(await same('redeploy_server', { target_nodes: 'n1', 'target-revision': 'committed' })).toContain('protected');
  await commit(
    `---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: n1}
data: {oob: {type: redfish, address: 'https://n1.example'}, interfaces: {eth0: {mac: '52:54:00:00:00:01'}}}
`,
  );
  expect(await same('deploy_site')).toContain('Intermediate commit detected');
  const all = { 'allow-intermediate-commits': true };
  expect(await same('deploy_site', all)).toContain('there is nothing to deploy');
  await commit(threeNodes);
  expect((await start('deploy_site', all)).status).toBe(201);
  expect(await same('update_site', all)).toContain('not started: ');
});

test('what can’t be rehearsed so is refused, with what can', async () => {
  await commit(threeNodes);
  await addAvailableNode(api.context.db, 'n3', { owner: 'team-a' });
  const refused = async (...given: Parameters<typeof rehearse>) => {
    const { status, fault } = await rehearse(...given);
    expect(status).toBe(400);
    return fault;
  };
  expect(await refused('', 'verify_site')).toContain(
    'verify_site deploys no nodes; it can be deploy_site, update_site',
  );
  expect(await refused('', 'deploy_site', { dry_run: true })).toContain('dry_run');
  expect(await refused('&runs=0')).toContain('1 to 1000');
  expect(await refused('&runs=1001')).toContain('1 to 1000');
  expect(await refused('&seed=4294967296')).toContain('0 to 4294967295');
  expect(await refused('&fail=n1')).toContain('it must be NODE@STEP');
  expect(await refused('&fail=101%25')).toContain('0% to 100%');
  expect(await refused('&fail=5%25&fail=6%25')).toContain('given already');
  expect(await refused('&fail=n1@clean&fail=n1@deploy')).toContain('a failure of n1 is given already');
  expect(await refused('&fail=n9@deploy')).toContain('no node n9');
  expect(await refused('&fail=n1@deploi')).toContain(
    'did you mean deploy?; it can fail at prepare, verify, clean, deploy',
  );
  expect(await refused('&fail=n3@deploy')).toContain('nothing is done to n3 that could fail');
  const without = await api.call('POST', `${airship}/actions?runs=5`, { name: 'deploy_site' }, '');
  expect([without.status, without.fault]).toEqual([400, expect.stringContaining('runs: it goes with rehearse=true')]);
});
