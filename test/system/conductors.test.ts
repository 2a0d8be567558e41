import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, onTestFailed, onTestFinished, test } from 'vitest';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { freePort } from '#test/support/free-port.ts';
import { checkMs, type LoadBalancer, startLoadBalancer } from '#test/support/load-balancer.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { openPool, type PostgresServer, startPostgresql } from '#test/support/postgresql.ts';

/** Three conductors on one PostgreSQL behind HAProxy, which hands out each request to the next of them. */

const names = ['one', 'two', 'three'] as const;
type Name = (typeof names)[number];
const leaseSeconds = 2;
const deployed = ['prepare_disks', 'write_image demo.raw', 'tune_image'];

let server: PostgresServer;
let database: Pool;
const ask = (statement: string, values?: unknown[]) => database.query<Record<string, unknown>>(statement, values);
let conductors: Record<Name, ConductorProcess>;
let balancer: LoadBalancer;
/** Through the balancer. */
let operator: Operator;
let machines: SimulatedNode[];

beforeAll(async () => {
  server = await startPostgresql();
  database = openPool({ connectionString: server.url, application_name: 'test' });
  const port = await freePort();
  const settings = {
    DATABASE_URL: server.url,
    BATON_LEASE_SECONDS: String(leaseSeconds),
    BATON_CONDUCTOR_HEARTBEAT_INTERVAL: '0.5',
    BATON_CONDUCTOR_TIMEOUT: '3',
    // agents too go by the balancer: their lookups, heartbeats and reports reach each conductor in turn
    BATON_PUBLIC_URL: `http://127.0.0.1:${port}`,
    // so many chances has the balancer to see it, on a machine that is busy otherwise too
    BATON_SHUTDOWN_DELAY: String((checkMs / 1000) * 10),
    BATON_RECONCILE_INTERVAL: '0.5',
  };
  const prepared = await Promise.all(
    names.map(async (name) => [name, await prepareConductor({ ...settings, BATON_CONDUCTOR_NAME: name })] as const),
  );
  conductors = Object.fromEntries(prepared) as Record<Name, ConductorProcess>;
  // at once: an empty database is migrated by one of them
  await Promise.all(names.map((name) => conductors[name].start()));
  balancer = await startLoadBalancer(
    port,
    names.map((name) => conductors[name].url),
  );
  operator = createOperator(balancer.url, { retries: 5 });
  machines = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      startSimulatedNode({ conductorUrl: () => balancer.url, mac: `52:54:00:00:0c:0${index}`, stepMs: 100 }),
    ),
  );
  await Promise.all(machines.map((machine, index) => enrolSimulatedNode(operator, machine, `node-${index}`)));
});
afterAll(async () => {
  await Promise.all((machines ?? []).map((machine) => machine.close()));
  await balancer?.close();
  await Promise.all(names.map((name) => conductors?.[name].close()));
  await database?.end();
  await server?.close();
});

const nodeNames = () => machines.map((_, index) => `node-${index}`);
const showLogs = () =>
  onTestFailed(() => {
    for (const name of names) process.stderr.write(`--- ${name}\n${conductors[name].log().slice(-4000)}\n`);
  });

async function waitForAll(state: string, via = operator): Promise<void> {
  for (const name of nodeNames()) await via.waitForState(name, state);
}
/** Back to where a deploy may begin, wherever the test before has left it. */
async function undeployAll(): Promise<void> {
  const states = await Promise.all(nodeNames().map((name) => operator.node(name)));
  const used = states.filter((node) => node['provision_state'] !== 'available').map((node) => String(node['name']));
  await Promise.all(used.map((name) => operator.provision(name, 'deleted')));
  await waitForAll('available');
  const instance = [{ op: 'add', path: '/instance_info', value: demoInstance }];
  await Promise.all(nodeNames().map((name) => operator.call('PATCH', `/v1/nodes/${name}`, instance)));
}
/** Asks for it; answers what the machines had written before. */
async function deployAll(): Promise<number[]> {
  await undeployAll();
  const before = machines.map((machine) => machine.disk.length);
  const retries = operator.retries();
  await Promise.all(nodeNames().map((name) => operator.provision(name, 'active')));
  if (operator.retries() > retries) process.stderr.write(`${operator.retries() - retries} deploys asked for again\n`);
  return before;
}
const writtenSince = (before: readonly number[]) => machines.map((machine, index) => machine.disk.slice(before[index]));
const eachDeployedOnce = () => machines.map(() => deployed);
const heldBy = async (name: Name): Promise<string[]> => {
  const { rows } = await ask('select node_uuid from node_leases where holder = $1', [name]);
  return rows.map((row) => String(row['node_uuid']));
};
/** Reads the number of leases as the conductor itself counts them. */
const leasesHeld = async (url: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  const [, value] = /^baton_leases_held (\d+)$/m.exec(text) ?? [];
  return Number(value);
};
const alive = async (via: Operator): Promise<string[]> => {
  const { conductors: list } = (await via.call('GET', '/v1/conductors')) as {
    conductors: { hostname: string; alive: boolean }[];
  };
  return list.filter((each) => each.alive).map((each) => each.hostname);
};
const waitForAlive = (expected: readonly string[], via = operator) =>
  waitUntil(
    `conductors ${expected.join(', ')} to be alive`,
    async () => (await alive(via)).toSorted().join() === expected.toSorted().join() || undefined,
    { everyMs: 100 },
  );
/** Pauses that conductor at a moment when it is at nodes; answers them. */
async function pauseAtWork(name: Name): Promise<string[]> {
  const pid = conductors[name].pid();
  const look = async () => {
    process.kill(pid, 'SIGSTOP');
    const held = await heldBy(name);
    if (held.length > 0) return held;
    process.kill(pid, 'SIGCONT');
    return undefined;
  };
  return waitUntil(`${name} to be paused at work`, look, { everyMs: 5 });
}

test('any conductor answers any request, and all share the work', async () => {
  showLogs();
  const before = await deployAll();
  await waitForAll('active');
  expect(writtenSince(before)).toEqual(eachDeployedOnce());
  const { rows: workers } = await ask('select distinct conductor from flow_events order by conductor');
  expect(workers.map((row) => row['conductor'])).toEqual(['one', 'three', 'two']);
  for (const name of names) {
    const own = createOperator(conductors[name].url);
    expect(await own.node('node-0')).toMatchObject({ provision_state: 'active', reservation: null });
    expect(await own.call('POST', '/v1/nodes/node-0/plan', { target: 'rebuild' })).toHaveProperty('hash');
    expect(await own.call('GET', '/v1/nodes/node-0/flow')).toMatchObject({ state: 'succeeded' });
  }
  await waitForAlive(names);
});

test('what a killed conductor was at goes on elsewhere, and nothing is done twice', async () => {
  showLogs();
  const before = await deployAll();
  const held = await pauseAtWork('one');
  await conductors.one.kill('SIGKILL');
  const killedAt = performance.now();
  await waitUntil('its leases to be taken over', async () => (await heldBy('one')).length === 0 || undefined, {
    everyMs: 20,
  });
  process.stderr.write(`${held.length} leases taken over after ${Math.round(performance.now() - killedAt)} ms\n`);
  await waitForAll('active');
  expect(writtenSince(before)).toEqual(eachDeployedOnce());
  await waitForAlive(['two', 'three']);

  // its name is free at once, and a second process is refused it
  await conductors.one.start();
  const twin = await prepareConductor({ ...server.settings, BATON_CONDUCTOR_NAME: 'one' });
  await expect(twin.start()).rejects.toThrow(/BATON_CONDUCTOR_NAME: a conductor named one runs on this database/);
  await twin.close();
  await waitForAlive(names);
});

test('a conductor that was paused past its leases wakes up fenced: it does nothing more', async () => {
  showLogs();
  const before = await deployAll();
  const { two } = conductors;
  onTestFinished(() => void process.kill(two.pid(), 'SIGCONT'));
  const held = await pauseAtWork('two');
  // the balancer takes a while to see that nobody answers there
  const viaOne = createOperator(conductors.one.url);
  await waitForAll('active', viaOne);
  await waitForAlive(['one', 'three'], viaOne);
  const boots = machines.map((machine) => machine.boots());
  const done = async () => (await ask("select count(*)::int from flow_events where conductor = 'two'")).rows;
  const recorded = await done();

  process.kill(two.pid(), 'SIGCONT');
  await waitForAlive(names, viaOne);
  // what has ended meanwhile is left without a word
  await waitUntil(`two to let go of ${held.join(', ')}`, async () => (await leasesHeld(two.url)) === 0 || undefined);
  expect(writtenSince(before)).toEqual(eachDeployedOnce());
  expect(machines.map((machine) => machine.boots())).toEqual(boots);
  expect(machines.map((machine) => machine.state())).toEqual(machines.map(() => ({ power: 'on', runs: 'instance' })));
  expect(await done()).toEqual(recorded);
});

test('a rolling restart of all under load fails no request and no deploy', async () => {
  showLogs();
  const failures: string[] = [];
  let asked = 0;
  const load = { isOn: true };
  const ask = async (method: string, path: string, body?: unknown): Promise<void> => {
    asked += 1;
    const what = `${method} ${path}`;
    await fetch(`${balancer.url}${path}`, {
      method,
      headers: { 'X-OpenStack-Ironic-API-Version': '1.96', 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).then(
      async (answer) => {
        const text = await answer.text();
        if (!answer.ok) failures.push(`${what}: ${answer.status} ${text}`);
      },
      (error: unknown) => failures.push(`${what}: ${String(error)} ${String((error as Error).cause)}`),
    );
  };
  const clients = [0, 1, 2, 3].map(async (client) => {
    const name = `idle-${client}`;
    await operator.call('POST', '/v1/nodes', { driver: 'fake-hardware', name });
    while (load.isOn) {
      await ask('GET', `/v1/nodes/${name}`);
      await ask('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/extra/asked', value: asked }]);
      await ask('GET', '/v1/nodes?limit=5');
    }
  });
  const before = await deployAll();
  for (const name of names) {
    const conductor = conductors[name];
    const begun = conductor.log().length;
    await conductor.kill('SIGTERM');
    expect(conductor.log().slice(begun)).not.toContain('"level":50');
    await conductor.start();
  }
  await waitForAll('active');
  load.isOn = false;
  await Promise.all(clients);
  process.stderr.write(`${asked} requests during a rolling restart\n`);
  expect(failures).toEqual([]);
  expect(asked).toBeGreaterThan(100);
  expect(writtenSince(before)).toEqual(eachDeployedOnce());
});

test('each conductor works on the nodes of its own group', async () => {
  showLogs();
  await conductors.three.kill('SIGTERM');
  const group = { driver: 'fake-hardware', conductor_group: 'left', name: 'lefty' };
  await expect(operator.call('POST', '/v1/nodes', group)).rejects.toThrow(/400.*No valid host was found/);
  await conductors.three.start({ BATON_CONDUCTOR_GROUP: 'Left' });
  await waitUntil('the group to be known', () => operator.call('POST', '/v1/nodes', group));
  const { one } = conductors;
  await createOperator(one.url).provision('lefty', 'manage');
  await operator.waitForState('lefty', 'manageable');
  // the one that is asked hears of the new one with its sign of life
  await expect.poll(() => operator.node('lefty')).toMatchObject({ conductor: 'three', conductor_group: 'left' });
  const { rows: workers } = await ask(`
    select distinct e.conductor from flow_events e join flows f on f.uuid = e.flow_uuid
    join nodes n on n.uuid = f.node_uuid where n.name = 'lefty'`);
  expect(workers.map((row) => row['conductor'])).toEqual(['three']);
});

test('a database that cuts all connections is found again, by those who listen too', async () => {
  showLogs();
  const listening = async () => {
    const { rows } = await ask("select pid from pg_stat_activity where query ilike 'listen %'");
    return rows.map((row) => Number(row['pid']));
  };
  // the session of a conductor that has just been restarted ends a moment after it
  const pids = await waitUntil('one listener of each', async () => {
    const found = await listening();
    return found.length === names.length ? found : undefined;
  });
  await ask(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name <> 'test'`);
  await waitUntil(
    'all to listen again',
    async () => (await listening()).filter((pid) => !pids.includes(pid)).length === names.length || undefined,
  );
  await waitForAlive(names);
  for (const name of names) {
    await waitUntil(`${name} to answer`, () => createOperator(conductors[name].url).node('node-0'));
  }
  await operator.provision('node-0', 'deleted');
  await operator.waitForState('node-0', 'available');
  // and each has taken its name again by its next sign of life
  const locks = await waitUntil('each to have its name', async () => {
    const { rows } = await ask("select count(*)::int from pg_locks where locktype = 'advisory' and granted");
    return rows[0]?.['count'] === names.length ? rows : undefined;
  });
  expect(locks[0]?.['count']).toBe(names.length);
});

test('an older conductor does not start on the database of a newer one', async () => {
  const { one } = conductors;
  await one.kill('SIGTERM');
  await ask("insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 4102444800000)");
  await expect(one.start()).rejects.toThrow(/migrated by a newer Baton \(its schema is of 2100-01-01 00:00/);
});
