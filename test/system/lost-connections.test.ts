import { Client } from 'pg';
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { type PostgresServer, startPostgresql } from '#test/support/postgresql.ts';

/** A conductor whose connections to PostgreSQL are cut while it is at work on many nodes. */

let server: PostgresServer;
let conductor: ConductorProcess;
let cutter: Client;
let operator: Operator;
/** A wait for one never ends. */
const leaseSeconds = 86_400;

beforeAll(async () => {
  server = await startPostgresql();
  cutter = new Client({ connectionString: server.url });
  await cutter.connect();
  conductor = await prepareConductor({ DATABASE_URL: server.url, BATON_LEASE_SECONDS: String(leaseSeconds) });
  await conductor.start();
  operator = createOperator(conductor.url, { retries: 20 });
});
afterAll(async () => {
  await conductor.close();
  await cutter.end();
  await server.close();
});

test('nodes at work go on once there are other connections, and wait for no lease that nobody has any more', async () => {
  onTestFailed(() => {
    process.stderr.write(conductor.log().slice(-6000));
  });
  const names = Array.from({ length: 24 }, (_, index) => `cut-${index}`);
  const reach = async (target: string, state: string) => {
    await Promise.all(names.map((name) => operator.provision(name, target)));
    for (const name of names) await operator.waitForState(name, state);
  };
  for (const name of names) {
    await operator.call('POST', '/v1/nodes', { driver: 'fake-hardware', name, automated_clean: false });
  }
  await reach('manage', 'manageable');
  await reach('provide', 'available');

  // twenty times, each once it has others again
  const cut = async () => {
    const { rowCount } = await cutter.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    return (rowCount ?? 0) > 0 || undefined;
  };
  const cutting = (async () => {
    for (let round = 0; round < 20; round += 1) await waitUntil('connections', cut, { everyMs: 100 });
  })();
  await Promise.all(names.map((name) => operator.provision(name, 'active')));
  await cutting;
  for (const name of names) await operator.waitForState(name, 'active');
  const locked = await Promise.all(names.map(async (name) => (await operator.node(name))['reservation']));
  expect(locked).toEqual(names.map(() => null));
});
