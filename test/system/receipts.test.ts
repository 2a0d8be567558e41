import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { agentVersion } from '#agent/version.ts';
import { openDatabase } from '#conductor/kernel/db/open.ts';
import { ensureSigningKey, listReceiptKeys, rotateSigningKey } from '#conductor/receipts/signing-key-store.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { startPostgresql } from '#test/support/postgresql.ts';
import { batonProgram } from '#test/support/programs.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

/** A wipe leaves a receipt that people without a conductor can verify, by `baton` and without it. */

const name = 'n1';
const verifyScript = new URL('../../docs/receipts/verify.sh', import.meta.url).pathname;
let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-receipts-'));
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: '52:54:00:00:05:01',
    moreDisks: [{ name: '/dev/sdb', serial: 'DATA1' }],
  });
  await enrolSimulatedNode(operator, machine, name);
});
afterAll(async () => {
  await machine.close();
  await conductor.close();
  await rm(directory, { recursive: true });
});

interface Listed {
  readonly id: string;
  readonly flow: string;
  readonly disks_wiped: number;
  readonly disks_left_alone: number;
  readonly preserve_local_storage: boolean;
}

async function receipts(query = ''): Promise<readonly Listed[]> {
  return (await operator.call('GET', `/api/v1.0/receipts${query}`))['receipts'] as readonly Listed[];
}

async function deploy(): Promise<void> {
  // the release of an instance forgets it
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
}

/** Runs it as a program of its own, which no setting leads to a conductor. */
const baton = (args: readonly string[], url = 'http://127.0.0.1:9') =>
  run(batonProgram, args, {
    env: { BATON_URL: url },
    cwd: directory,
    okExitCodes: [0, 1, 2],
    timeoutMs: 300_000,
  });

test('a wipe is signed once, though the conductor dies at every third checkpoint', async () => {
  await deploy();
  conductor.atCheckpoints((_, passed) => (passed % 3 === 0 && conductor.deaths() < 12 ? 'die' : 'go on'));
  await operator.provision(name, 'deleted', { wipe: { preserve_local_storage: true } });
  await operator.waitForState(name, 'available');
  conductor.atCheckpoints(() => 'go on');
  expect(conductor.deaths()).toBeGreaterThan(5);
  expect(await receipts()).toMatchObject([{ disks_wiped: 1, disks_left_alone: 1, preserve_local_storage: true }]);
  expect(machine.disk.filter((entry) => entry.startsWith('erase_devices'))).toHaveLength(1);

  await deploy();
  const undeployed = await baton(['undeploy', name, '--wipe', '--wait'], conductor.url);
  expect([undeployed.exitCode, undeployed.stderr]).toEqual([0, '']);
  expect(undeployed.stdout).toContain('sign_receipt');
  const [latest, ...earlier] = await receipts(`?node=${name}`);
  expect([latest, earlier.length]).toMatchObject([{ disks_wiped: 2, disks_left_alone: 0 }, 1]);
  expect(latest?.flow).not.toBe(earlier[0]?.flow);
  const events = await operator.call('GET', `/v1/nodes/${name}/history?detail=true`);
  expect(JSON.stringify(events)).toContain(`receipt ${latest?.id} signed: 2 disks wiped, 0 left alone`);
});

test('a wipe without proof has no receipt, and its node is not available', async () => {
  const before = (await receipts()).length;
  await deploy();
  machine.faults.provesNoErase = true;
  await operator.provision(name, 'deleted', { wipe: {} });
  await waitUntil(
    'the wipe to fail',
    async () => (await operator.node(name))['provision_state'] === 'clean failed' || undefined,
    { everyMs: 100 },
  );
  delete machine.faults.provesNoErase;
  expect(await receipts()).toHaveLength(before);
});

test('receipts outlive their node, and are verified by baton and by openssl, offline', async () => {
  await operator.call('PUT', `/v1/nodes/${name}/maintenance`, { reason: 'it goes' });
  await operator.call('DELETE', `/v1/nodes/${name}`);
  const [{ id } = { id: '' }] = await receipts(`?node=${name}`);
  expect((await baton(['receipt', 'show', id, '--out', 'receipt.json'], conductor.url)).exitCode).toBe(0);
  expect((await baton(['receipt', 'key', '--out', 'key.pem'], conductor.url)).exitCode).toBe(0);

  const verified = await baton(['receipt', 'verify', 'receipt.json', '--key', 'key.pem']);
  expect([verified.exitCode, verified.stderr]).toEqual([0, '']);
  expect(verified.stdout).toContain('serial DATA1');
  expect(verified.stdout).toContain(`wiped by the agent ${agentVersion}`);
  const alone = await baton(['receipt', 'verify', 'receipt.json']);
  expect([alone.exitCode, alone.stdout]).toEqual([2, '']);

  // what auditors have without Baton
  const openssl = [verifyScript, 'receipt.json', 'key.pem'];
  const proof = await run('sh', openssl, { cwd: directory });
  expect(proof.stdout).toContain('Signature Verified Successfully');
  const { fingerprint } = JSON.parse((await baton(['receipt', 'key', '-o', 'json'], conductor.url)).stdout)[0] as {
    fingerprint: string;
  };
  expect(proof.stdout).toContain(fingerprint);
  expect(JSON.parse(await readFile(join(directory, 'payload.json'), 'utf8'))).toMatchObject({
    kind: 'WipeReceipt',
    id,
  });

  const text = await readFile(join(directory, 'receipt.json'), 'utf8');
  await writeFile(
    join(directory, 'receipt.json'),
    text.replace(/("payload":".{200})(.)/, (_, head: string, at: string) => `${head}${at === 'A' ? 'B' : 'A'}`),
  );
  const changed = await baton(['receipt', 'verify', 'receipt.json', '--key', 'key.pem']);
  expect([changed.exitCode, changed.stdout, changed.stderr]).toEqual([1, '', expect.stringContaining('NOT verified')]);
  await expect(run('sh', openssl, { cwd: directory })).rejects.toThrow('exited with');
});

test('conductors on one PostgreSQL make one key', async () => {
  const server = await startPostgresql();
  const databases = await Promise.all(
    Array.from({ length: 2 }, () => openDatabase({ url: server.url, dataDirectory: '' })),
  );
  try {
    const contexts = databases.map(({ db }) => ({ db, secrets: testSecrets }));
    const everywhere = <T>(ask: (context: (typeof contexts)[number]) => Promise<T>): Promise<T[]> =>
      Promise.all(Array.from({ length: 4 }, () => contexts.map(ask)).flat());
    const first = await everywhere(ensureSigningKey);
    expect(new Set(first.map(({ fingerprint }) => fingerprint)).size).toBe(1);
    await everywhere(rotateSigningKey);
    const [context] = contexts;
    const keys = context ? await listReceiptKeys(context.db) : [];
    expect(keys.length).toBeGreaterThan(1);
    expect(keys.filter(({ retiredAt }) => retiredAt === null)).toHaveLength(1);
    const later = await everywhere(ensureSigningKey);
    expect(new Set(later.map(({ fingerprint }) => fingerprint))).toEqual(new Set([keys.at(-1)?.fingerprint]));
  } finally {
    await Promise.all(databases.map((database) => database.close()));
    await server.close();
  }
});
