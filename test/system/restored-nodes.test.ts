import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import { run } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { askPostgresql, type PostgresServer, startPostgresql } from '#test/support/postgresql.ts';
import { batonProgram } from '#test/support/programs.ts';

/** A dump from the middle of deploys, restored when their instances run: whatever is said of the nodes, those run on. */

let directory: string;
let server: PostgresServer;
const conductors: ConductorProcess[] = [];
const machines: SimulatedNode[] = [];

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-restored-'));
  server = await startPostgresql();
});
afterAll(async () => {
  for (const each of [...machines, ...conductors]) await each.close();
  await server.close();
  await rm(directory, { recursive: true });
});

async function startOn(database: string): Promise<ConductorProcess> {
  const conductor = await prepareConductor(settingsOf(database));
  conductors.push(conductor);
  await conductor.start();
  return conductor;
}

const settingsOf = (database: string): Readonly<Record<string, string>> => ({
  ...server.settings,
  DATABASE_URL: server.url.replace(/\/postgres$/, `/${database}`),
  BATON_POWER_SYNC_INTERVAL: '1',
});
const baton = (args: readonly string[], database: string) =>
  run(batonProgram, ['database', ...args], { env: settingsOf(database), timeoutMs: 300_000 });

test('instances that were being deployed in the dump run on', async () => {
  for (const name of ['before', 'after']) await askPostgresql(server.url, `create database ${name}`);
  const before = await startOn('before');
  let url = before.url;
  onTestFailed(() => {
    process.stderr.write(conductors.map((each) => each.log().slice(-4000)).join('\n'));
  });
  const letGo = Promise.withResolvers<void>();
  const operator = createOperator(before.url);
  const names = ['n1', 'n2', 'n3', 'n4'];
  for (const [index, name] of names.entries()) {
    const machine = await startSimulatedNode({ conductorUrl: () => url, mac: `52:54:00:00:0e:0${index}` });
    machine.faults.slowStep = { step: 'write_image', until: letGo.promise };
    machines.push(machine);
    await enrolSimulatedNode(operator, machine, name);
    await operator.provision(name, 'active');
  }
  for (const name of names) await waitForImage(operator, name);
  await baton(['dump', join(directory, 'baton.dump')], 'before');
  letGo.resolve();
  for (const name of names) await operator.waitForState(name, 'active');
  await before.kill('SIGTERM');
  await baton(['restore', join(directory, 'baton.dump')], 'after');
  const written = machines.map(({ bmc }) => bmc.requests.length);

  const after = await startOn('after');
  ({ url } = after);
  const restored = createOperator(after.url);
  const [n1 = '', n2 = '', n3 = '', n4 = ''] = names;
  // what runs there is read, and nothing else is done
  for (const name of names) await seePowerOn(restored, name);
  expect(await restored.node(n1)).toMatchObject({ provision_state: 'wait call-back', fault: 'restored' });
  await expect(restored.provision(n1, 'abort')).rejects.toThrow('was restored from a dump');
  await expect(restored.call('DELETE', `/v1/nodes/${n2}/maintenance`)).rejects.toThrow(
    'no agent has called in since: going on would power off whatever runs there now',
  );
  for (const [name, verb, state] of [
    [n1, 'adopt', 'active'],
    [n2, 'adopt', 'active'],
    [n3, 'manage', 'manageable'],
    [n4, 'manage', 'manageable'],
  ] as const) {
    await restored.provision(name, verb);
    await restored.call('DELETE', `/v1/nodes/${name}/maintenance`);
    await restored.waitForState(name, state);
  }
  for (const [index, { bmc }] of machines.entries()) {
    const since = bmc.requests.slice(written[index]).filter(({ method }) => method !== 'GET');
    // a session is begun to read
    expect(since.filter(({ path }) => !path.includes('Sessions'))).toEqual([]);
  }
  expect(machines.map((machine) => machine.state())).toEqual(names.map(() => ({ power: 'on', runs: 'instance' })));
});

const waitForImage = (operator: Operator, name: string) =>
  waitUntil(
    `${name} to write its image`,
    async () => {
      const { steps } = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as {
        steps?: { step: string; state: string }[];
      };
      return steps?.some(({ step, state }) => step === 'write_image' && state === 'waiting') || undefined;
    },
    { everyMs: 100 },
  );

const seePowerOn = (operator: Operator, name: string) =>
  waitUntil(
    `the power of ${name} to be read`,
    async () => (await operator.node(name))['power_state'] === 'power on' || undefined,
    { everyMs: 200 },
  );
