import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import { openDatabase } from '#conductor/kernel/db/open.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, isAtRest, type Operator } from '#test/support/operator.ts';
import { type PostgresServer, startPostgresql } from '#test/support/postgresql.ts';
import { openSilenceableWay } from '#test/support/silenceable-way.ts';

/** The same schema and flows on a real PostgreSQL, with two conductors on it. */

let server: PostgresServer;
let first: ConductorProcess;
let second: ConductorProcess;
let operator: Operator;
let machines: SimulatedNode[];
const leaseSeconds = 2;

beforeAll(async () => {
  server = await startPostgresql();
  const settings = { DATABASE_URL: server.url, BATON_LEASE_SECONDS: String(leaseSeconds) };
  first = await prepareConductor({ ...settings, BATON_CONDUCTOR_NAME: 'first' });
  second = await prepareConductor({ ...settings, BATON_CONDUCTOR_NAME: 'second' });
  await first.start();
  await second.start();
  operator = createOperator(second.url);
  machines = await Promise.all(
    [1, 2, 3, 4].map((index) =>
      startSimulatedNode({ conductorUrl: () => second.url, mac: `52:54:00:00:04:0${index}` }),
    ),
  );
});
afterAll(async () => {
  await Promise.all(machines.map((machine) => machine.close()));
  await first.close();
  await second.close();
  await server.close();
});

test('nodes deploy side by side with two conductors on one database', async () => {
  onTestFailed(() => {
    process.stderr.write(`${first.log().slice(-3000)}\n${second.log().slice(-3000)}`);
  });
  const names = await Promise.all(
    machines.slice(0, 3).map((machine, index) => enrolSimulatedNode(operator, machine, `pg-${index}`)),
  );
  await Promise.all(names.map((name) => operator.provision(name, 'active')));
  for (const name of names) await operator.waitForState(name, 'active');
  for (const machine of machines.slice(0, 3)) {
    expect(machine.disk).toEqual(['prepare_disks', 'write_image demo.raw', 'tune_image']);
  }
});

test('operators who change one node at once, beside conductors at work, wait for each other and never lock up', async () => {
  await operator.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'pg-busy', automated_clean: false });
  let asked = 0;
  // 409 is tried again, as clients do: a conductor is at the node for moments, and some are long on a busy machine
  const until = performance.now() + 120_000;
  const ask = async (method: string, path: string, body?: unknown): Promise<number> => {
    // each by turns through one of the two conductors
    const answer = await fetch(`${(asked += 1) % 2 === 0 ? first.url : second.url}/v1/nodes/pg-busy${path}`, {
      method,
      headers: { 'X-OpenStack-Ironic-API-Version': '1.96', 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await answer.text();
    return answer.status === 409 && performance.now() < until ? ask(method, path, body) : answer.status;
  };
  const statuses: number[] = [];
  for (let round = 0; round < 8; round += 1) {
    statuses.push(
      ...(await Promise.all([
        ask('PATCH', '', [{ op: 'add', path: '/extra/round', value: round }]),
        ask('PATCH', '', [{ op: 'add', path: '/description', value: `round ${round}` }]),
        ask('PUT', '/traits', { traits: [`CUSTOM_ROUND_${round}`] }),
        ask('PUT', '/states/power', { target: round % 2 === 0 ? 'power on' : 'power off' }),
        ask('PUT', '/states/provision', { target: round === 0 ? 'manage' : 'provide' }),
        ask('PUT', '/maintenance', {}),
        ask('DELETE', '/maintenance'),
      ])),
    );
  }
  // a deadlock would be a 500; a state that forbids it, a 400
  expect([...new Set(statuses)].filter((status) => ![200, 202, 204, 400].includes(status))).toEqual([]);
  expect(`${first.log()}${second.log()}`).not.toContain('deadlock');
  expect(statuses.filter((status) => status < 300).length).toBeGreaterThan(statuses.length / 2);
  await operator.call('DELETE', '/v1/nodes/pg-busy/maintenance');
  await waitUntil('the node to rest', async () => isAtRest(await operator.node('pg-busy')) || undefined);
});

test('a deploy whose conductor is killed goes on with the other within the lease', async () => {
  onTestFailed(() => {
    process.stderr.write(`${first.log().slice(-3000)}\n${second.log().slice(-3000)}`);
  });
  const [, , , machine] = machines;
  if (!machine) throw new Error('no fourth machine');
  const name = await enrolSimulatedNode(operator, machine, 'pg-heir');
  await first.kill('SIGTERM');
  await first.start({ CRASH_AT_CHECKPOINT: '2' });
  // or it might be the other that takes up the deploy, and not the one that is to die of it
  process.kill(second.pid(), 'SIGSTOP');
  try {
    await createOperator(first.url).provision(name, 'active');
    expect(await first.exited()).toBe(137);
  } finally {
    process.kill(second.pid(), 'SIGCONT');
  }

  await operator.waitForState(name, 'active');

  expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
});

test('a server that is suddenly silent keeps no connection of the pool', async () => {
  const way = await openSilenceableWay(server.url);
  const database = await openDatabase({ url: way.url, dataDirectory: '', answerSeconds: 6 });
  try {
    const ask = () => database.db.execute(sql`select 1`);
    await Promise.all(Array.from({ length: 10 }, ask));
    way.silence();
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, ask));
    expect(outcomes.map(({ status }) => status)).toEqual(Array<string>(10).fill('rejected'));
    // new connections come through
    await Promise.all(Array.from({ length: 10 }, ask));
  } finally {
    await database.close();
    await way.close();
  }
});

test('an abort that comes at any moment ends in deploy failed, machine off, and never in active', async () => {
  const machine = await startSimulatedNode({ conductorUrl: () => second.url, mac: '52:54:00:00:04:09', stepMs: 60 });
  onTestFailed(() => {
    process.stderr.write(`${first.log().slice(-3000)}\n${second.log().slice(-3000)}`);
  });
  const name = await enrolSimulatedNode(operator, machine, 'pg-abort');
  const mayAbort = () =>
    operator.provision(name, 'abort').then(
      () => true,
      () => false, // a conductor is at the node, or there is nothing to abort at that moment
    );
  // from that moment on, until it is accepted or the deploy is over
  const abortOrEnd = async (): Promise<'aborted' | 'over'> => {
    if (await mayAbort()) return 'aborted';
    const { target_provision_state: target } = await operator.node(name);
    return target === null ? 'over' : abortOrEnd();
  };
  let aborted = 0;
  for (let round = 0; round < 16; round += 1) {
    await operator.provision(name, 'active');
    // a little later each time, so that it meets other moments of the deploy
    const abortAt = performance.now() + 100 + round * 25;
    await waitUntil('the moment to abort', () => performance.now() >= abortAt || undefined, {
      everyMs: 5,
    });
    const wasAborted = (await abortOrEnd()) === 'aborted';
    aborted += wasAborted ? 1 : 0;
    const node = await operator.waitForState(name, wasAborted ? 'deploy failed' : 'active');
    expect(machine.state().power, `round ${round}: ${String(node['last_error'])}`).toBe(wasAborted ? 'off' : 'on');
    await operator.provision(name, 'deleted');
    await operator.waitForState(name, 'available');
    await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  }
  await machine.close();
  expect(aborted).toBeGreaterThan(3);
});
