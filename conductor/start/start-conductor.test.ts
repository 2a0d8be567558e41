import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '#conductor/kernel/db/open.ts';
import { agentSessions } from '#conductor/kernel/db/schema/agent.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { readConfig } from '#conductor/start/config.ts';
import { startConductor } from '#conductor/start/start-conductor.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { makeTestDatabase, openTestDatabase } from '#test/support/test-database.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const options = () => ({ log: silentLog, database, secrets: testSecrets });
const configOf = (name: string, port: string) => readConfig({ BATON_CONDUCTOR_NAME: name, BATON_PORT: port });
const isReady = async (url: string) => (await fetch(`${url}/readyz`)).status === 200;

test('a conductor serves until it is disposed of, and its name is free then', async () => {
  for (const life of [1, 2]) {
    let url = '';
    {
      await using conductor = await startConductor(configOf('twice', '0'), options());
      ({ url } = conductor);
      expect(await isReady(url), `life ${life}`).toBe(true);
      expect(conductor.context.stopping.aborted).toBe(false);
    }
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  }
});

test('one that can not listen says so, and leaves nothing behind', async () => {
  await using first = await startConductor(configOf('first', '0'), options());
  const { port } = new URL(first.url);
  const refused = await startConductor(configOf('second', port), options()).catch(errorChain);
  expect(refused).toContain(port);
  expect(await isReady(first.url)).toBe(true);
  // its name is free again
  await using second = await startConductor(configOf('second', '0'), options());
  expect(await isReady(second.url)).toBe(true);
});

test('a directory of authorities that is not there is refused at the start, by the name of its setting', async () => {
  const config = readConfig({ BATON_CONDUCTOR_NAME: 'authorities', BATON_PORT: '0', BATON_CA_DIR: '/nope' });
  await expect(startConductor(config, options()).catch(errorChain)).resolves.toMatch(
    /BATON_CA_DIR: read \/nope: .*ENOENT/,
  );
});

test('a conductor serves before all that is stored has been looked through for secrets', async () => {
  await using opening = new AsyncDisposableStack();
  const made = await makeTestDatabase();
  opening.defer(() => made.drop());
  const own = await openDatabase({ url: made.url, dataDirectory: '', log: silentLog, isAlone: true });
  opening.defer(() => own.close());
  const uuid = crypto.randomUUID();
  await own.db.insert(nodes).values({
    uuid,
    driver: 'fake-hardware',
    networkInterface: 'noop',
    deployInterface: 'fake',
    provisionState: 'enroll',
  });
  await own.db.insert(agentSessions).values({ nodeUuid: uuid, token: 'clear' });
  const other = new Client({ connectionString: made.url });
  await other.connect();
  opening.defer(() => other.end());
  await other.query('begin; lock table volume_targets in access exclusive mode');

  await using conductor = await startConductor(configOf('seals', '0'), { ...options(), database: own });
  expect(await isReady(conductor.url)).toBe(true);
  await other.query('commit');
  const tokens = async () => (await own.db.select({ token: agentSessions.token }).from(agentSessions))[0]?.token;
  await expect.poll(tokens, { timeout: 60_000 }).toContain('sealed:');
});
