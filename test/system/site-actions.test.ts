import type { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, expect, onTestFailed, test } from 'vitest';
import type { ActionAnswer } from '#conductor/api/actions.ts';
import type { GroupStage } from '#conductor/model/site/site-run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import type { SimulatedNodeOptions } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { freePort } from '#test/support/free-port.ts';
import { checkMs, type LoadBalancer, startLoadBalancer } from '#test/support/load-balancer.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { openPool, type PostgresServer, startPostgresql } from '#test/support/postgresql.ts';
import { bmcCredential, type SimulatedSite, siteDocument, startSimulatedSite } from '#test/support/simulated-site.ts';
import { createSiteOperator, type SiteOperator } from '#test/support/site-operator.ts';

/** Site actions of three conductors on one PostgreSQL behind HAProxy: killed, paused, stopped, out of time. */

const names = ['one', 'two', 'three'] as const;
type Name = (typeof names)[number];
const prepared = ['erase_devices_metadata'];
const deployed = [...prepared, 'prepare_disks', 'write_image demo.raw with config drive', 'tune_image'];

let server: PostgresServer;
let database: Pool;
const ask = (statement: string, values?: unknown[]) => database.query<Record<string, unknown>>(statement, values);
let conductors: Record<Name, ConductorProcess>;
let balancer: LoadBalancer;
let operator: SiteOperator;
let ironic: Operator;
let site: SimulatedSite | undefined;
let machinesSoFar = 0;

beforeAll(async () => {
  server = await startPostgresql();
  database = openPool({ connectionString: server.url });
  const port = await freePort();
  const settings = {
    ...server.settings,
    BATON_FAST_TRACK: 'true',
    BATON_LEASE_SECONDS: '2',
    BATON_CONDUCTOR_HEARTBEAT_INTERVAL: '0.5',
    BATON_CONDUCTOR_TIMEOUT: '3',
    BATON_PUBLIC_URL: `http://127.0.0.1:${port}`,
    BATON_SHUTDOWN_DELAY: String((checkMs / 1000) * 5),
    BATON_RECONCILE_INTERVAL: '0.5',
  };
  const made = await Promise.all(
    names.map(async (name) => [name, await prepareConductor({ ...settings, BATON_CONDUCTOR_NAME: name })] as const),
  );
  conductors = Object.fromEntries(made) as Record<Name, ConductorProcess>;
  await Promise.all(names.map((name) => conductors[name].start()));
  balancer = await startLoadBalancer(
    port,
    names.map((name) => conductors[name].url),
  );
  operator = createSiteOperator(balancer.url);
  ironic = createOperator(balancer.url);
  await operator.setCredential(bmcCredential.name, bmcCredential.account);
});
afterEach(async () => {
  await site?.close();
  site = undefined;
});
afterAll(async () => {
  await balancer?.close();
  await Promise.all(names.map((name) => conductors?.[name].close()));
  await database?.end();
  await server?.close();
});

interface TestGroup {
  readonly name: string;
  readonly nodes: readonly string[];
  readonly more?: Readonly<Record<string, unknown>>;
}

/** New machines in these groups, one after another; their documents are committed. */
async function commitSite(groups: readonly TestGroup[], options: Partial<SimulatedNodeOptions> = {}) {
  onTestFailed(() => {
    for (const name of names) process.stderr.write(`--- ${name}\n${conductors[name].log().slice(-4000)}\n`);
  });
  const members = groups.flatMap(({ nodes }) => nodes.map((name) => ({ name, rack: 'rack01', tags: [] })));
  const started = await startSimulatedSite(members, {
    conductorUrl: () => balancer.url,
    firstMac: machinesSoFar,
    ...options,
  });
  machinesSoFar += members.length;
  site = started;
  const strategy = siteDocument('shipyard/DeploymentStrategy/v1', 'deployment-strategy', {
    groups: groups.map(({ name, nodes, more }, index) => ({
      name,
      critical: false,
      success_criteria: { percent_successful_nodes: 100 },
      depends_on: groups.slice(Math.max(0, index - 1), index).map((each) => each.name),
      selectors: [{ node_names: nodes }],
      ...more,
    })),
  });
  await operator.commit('site', `${started.documents}---\n${strategy}`);
  return started.machines;
}

const stages: readonly GroupStage[] = ['not_started', 'preparing', 'prepared', 'deploying', 'success', 'failure'];
const stagesOf = (action: ActionAnswer) =>
  Object.fromEntries((action.groups ?? []).map((group) => [group.name, group.stage]));
const stateOf = async (name: string) => (await ironic.node(name))['provision_state'];
const holder = async (id: string): Promise<Name | undefined> => {
  const { rows } = await ask('select holder from site_actions where id = $1 and expires_at > now()', [id]);
  const [row] = rows;
  return names.find((name) => name === row?.['holder']);
};
const until = <T>(what: string, look: () => Promise<T | undefined>) => waitUntil(what, look, { everyMs: 20 });
/** Or further: it may be passed between two looks. */
const untilStage = (id: string, group: string, stage: GroupStage) =>
  until(`${group} to be ${stage}`, async () => {
    const action = await operator.action(id);
    const seen = stagesOf(action)[group];
    return seen !== undefined && stages.indexOf(seen) >= stages.indexOf(stage) ? action : undefined;
  });

test('when the conductor that runs an action is killed, another goes on, and no node is deployed twice', async () => {
  const groups = [
    { name: 'first', nodes: ['kill-1', 'kill-2'] },
    { name: 'second', nodes: ['kill-3', 'kill-4'] },
  ];
  const machines = await commitSite(groups, { stepMs: 1000 });
  const id = await operator.createAction('deploy_site');
  const moments = [
    ['first', 'preparing'],
    ['first', 'deploying'],
    ['second', 'preparing'],
    ['second', 'deploying'],
  ] as const;
  const restarts: Promise<void>[] = [];
  for (const [group, stage] of moments) {
    const { ended_at: end } = await untilStage(id, group, stage);
    if (end !== null) break;
    const victim = await until('somebody to run it', () => holder(id));
    await conductors[victim].kill('SIGKILL');
    await until('another to run it', async () => ((await holder(id)) === victim ? undefined : holder(id)));
    // two are left, one of them to be killed next
    await Promise.all(restarts);
    restarts.push(conductors[victim].start());
  }
  await Promise.all(restarts);
  expect(restarts.length).toBeGreaterThanOrEqual(2);
  const action = await operator.waitForEnd(id);
  expect(stagesOf(action)).toEqual({ first: 'success', second: 'success' });
  const runs = { disk: deployed, state: { power: 'on', runs: 'instance' } };
  expect([...machines].map(([name, machine]) => ({ name, disk: machine.disk, state: machine.state() }))).toEqual(
    [...machines.keys()].map((name) => ({ name, ...runs })),
  );
  for (const name of machines.keys()) expect(await stateOf(name)).toBe('active');
  const revision = await operator.call<{ tags: object }>('GET', `/revisions/${action.committed_rev_id}`);
  expect(Object.keys(revision.tags)).toContain('site-action-success');

  // what is deployed from these documents stays as it is
  const boots = [...machines.values()].map((machine) => machine.boots());
  const again = await operator.waitForEnd(await operator.createAction('update_site'));
  expect(stagesOf(again)).toEqual({ first: 'success', second: 'success' });
  expect([...machines.values()].map((machine) => machine.boots())).toEqual(boots);
});

test('one site action at a time; a paused one begins nothing until it is unpaused', async () => {
  const machines = await commitSite(
    [
      { name: 'first', nodes: ['pause-1'] },
      { name: 'second', nodes: ['pause-2'] },
    ],
    { stepMs: 100 },
  );
  // it is not over before the pause has come
  const { promise, resolve: letItEnd } = Promise.withResolvers<void>();
  const faults = machines.get('pause-1')?.faults;
  if (faults) faults.slowStep = { step: 'erase_devices_metadata', until: promise };
  const id = await operator.createAction('deploy_site');
  await expect(operator.createAction('update_site')).rejects.toThrow(/409.*deploy_site/);
  await untilStage(id, 'first', 'preparing');
  await operator.control(id, 'pause');
  letItEnd();
  await until('it to pause', async () => (await operator.action(id)).action_lifecycle === 'Paused' || undefined);
  // what was begun is brought to its end
  await until('the node at work to rest', async () => {
    const { target_provision_state: target, reservation } = await ironic.node('pause-1');
    return (target === null && reservation === null) || undefined;
  });
  expect(machines.get('pause-2')?.boots()).toBe(0);
  await operator.control(id, 'unpause');
  const action = await operator.waitForEnd(id);
  expect(stagesOf(action)).toEqual({ first: 'success', second: 'success' });
  expect(machines.get('pause-1')?.disk).toEqual(deployed);
  expect(action.command_audit?.map(({ command }) => command)).toEqual(['invoke', 'pause', 'unpause']);
});

test('a stopped action leaves every node in a known state', async () => {
  const machines = await commitSite([
    { name: 'first', nodes: ['stop-1'] },
    { name: 'second', nodes: ['stop-2'] },
  ]);
  const faults = machines.get('stop-1')?.faults;
  if (faults) faults.slowStep = { step: 'write_image', ms: 600_000 };
  const id = await operator.createAction('deploy_site');
  await untilStage(id, 'first', 'deploying');
  await operator.control(id, 'stop');
  const action = await operator.waitForEnd(id);
  expect(action.action_lifecycle).toBe('Stopped');
  expect(await ironic.node('stop-1')).toMatchObject({
    provision_state: 'deploy failed',
    target_provision_state: null,
    reservation: null,
  });
  expect(machines.get('stop-2')?.boots()).toBe(0);
});

test('a group out of time: its hanging node is broken off, the rest goes on, and the next action deploys it', async () => {
  const more = { deploy_timeout: 3600, success_criteria: { percent_successful_nodes: 50 } };
  const machines = await commitSite([
    { name: 'first', nodes: ['late-1', 'late-2'], more },
    { name: 'second', nodes: ['late-3'], more: { depends_on: [] } },
  ]);
  const faults = machines.get('late-1')?.faults;
  if (faults) faults.slowStep = { step: 'write_image', ms: 600_000 };
  const id = await operator.createAction('deploy_site');
  await until('the other to be done', async () => {
    const nodes = await operator.actionNodes(id);
    return nodes.some(({ name, status }) => name === 'late-2' && status === 'success') || undefined;
  });
  // the hour is over for the next reader
  const victim = await until('somebody to run it', () => holder(id));
  await conductors[victim].kill('SIGKILL');
  await ask(
    "update site_action_groups set deploy_started_at = now() - interval '3600 s' where action_id = $1 and name = 'first'",
    [id],
  );
  await conductors[victim].start();
  const action = await operator.waitForEnd(id);
  expect(stagesOf(action)).toEqual({ first: 'failure', second: 'success' });
  expect(action.groups?.find(({ name }) => name === 'first')?.reason).toContain('not finished within 3600 s');
  const nodes = await operator.actionNodes(id);
  expect(Object.fromEntries(nodes.map(({ name, status }) => [name, status]))).toEqual({
    'late-1': 'failure',
    'late-2': 'success',
    'late-3': 'success',
  });
  expect(await ironic.node('late-1')).toMatchObject({
    provision_state: 'deploy failed',
    target_provision_state: null,
    reservation: null,
  });
  if (faults) delete faults.slowStep;
  const boots = machines.get('late-2')?.boots();
  const again = await operator.waitForEnd(await operator.createAction('update_site'));
  expect((await operator.actionNodes(again.id)).map(({ status }) => status)).toEqual(['success', 'success', 'success']);
  expect(await stateOf('late-1')).toBe('active');
  expect(machines.get('late-2')?.boots()).toBe(boots);
});
