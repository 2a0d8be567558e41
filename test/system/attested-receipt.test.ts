import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createAttester } from '#agent/attest.ts';
import { createTpm } from '#agent/tpm/tpm.ts';
import { findAgentSession } from '#conductor/agents/agent-session-store.ts';
import { quoteWipe, signWipe } from '#conductor/flows/conductor-steps/sign-receipt.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { readPublicKeys } from '#conductor/model/receipts/envelope.ts';
import { verifyReceipt, type WipeReceipt } from '#conductor/model/receipts/verify-receipt.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { listNodePorts } from '#conductor/nodes/ports/port-store.ts';
import { listReceiptKeys } from '#conductor/receipts/signing-key-store.ts';
import { erasedDisk } from '#conductor/receipts/testing/example-facts.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { type SoftwareTpm, startSwtpm } from '#test/support/swtpm.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** A receipt of a machine that has proved its boot, which its TPM has signed too: for people who have OpenSSL, or tpm2-tools. */

const verifyScript = new URL('../../docs/receipts/verify.sh', import.meta.url).pathname;
const mac = '52:54:00:00:00:01';
let api: TestApi;
let uuid: string;
let directory: string;
let tpm: SoftwareTpm;

beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_ATTESTATION: 'record' } });
  directory = await mkdtemp(join(tmpdir(), 'baton-attested-receipt-'));
});
beforeEach(async () => {
  await api.reset();
  ({ uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' }));
  await api.call('POST', '/v1/ports', { address: mac, node_uuid: uuid });
  await api.context.db.update(nodes).set({ provisionState: 'clean wait' });
  tpm = await startSwtpm();
});
afterEach(() => tpm.stop());
afterAll(async () => {
  await api.close();
  await rm(directory, { recursive: true });
});

/** The machine's agent, which has attested its boot. */
async function bootedAgent() {
  const attester = createAttester(
    async (_, signal) => ({
      tpm: createTpm(await tpm.connect(), { log: silentLog, signal }),
      readEventLog: () => Promise.resolve({ problem: 'there is none' }),
    }),
    { log: silentLog, say: () => undefined },
  );
  const { signal } = new AbortController();
  await attester.attest({
    addresses: [mac],
    post: async (path, body) => {
      const { status, body: answer } = await api.call('POST', path, body, '1.62');
      return { status, body: answer };
    },
    signal,
  });
  await attester.release();
  return (nonce: Buffer) => attester.quote(nonce, signal);
}
type Quote = Awaited<ReturnType<typeof bootedAgent>>;

/** Wipes and signs, with an agent that quotes so. @returns the signed file's path and key's */
async function wipe(quote: Quote): Promise<{ file: string; key: string; receipt: WipeReceipt }> {
  const { db, secrets } = api.context;
  const [flowUuid, now] = [randomUUID(), new Date()];
  await db.insert(flows).values({
    uuid: flowUuid,
    nodeUuid: uuid,
    kind: 'wipe',
    state: 'running',
    wipe: { preserveLocalStorage: false },
    startedAt: now,
  });
  const [flow] = await db.select().from(flows).where(eq(flows.uuid, flowUuid));
  const context = {
    db,
    secrets,
    flow,
    node: await getNode(db, uuid),
    session: await findAgentSession(db, uuid),
    clock: { now: () => new Date() },
    config: { conductorName: 'c1' },
    ports: () => listNodePorts(db, uuid),
    ask: <T>(answer: Promise<T>) => answer,
    record: (write: Parameters<typeof db.transaction>[0]) => db.transaction(write),
    signal: new AbortController().signal,
    agent: () => ({
      post: async ({ params }: { readonly params: { readonly nonce: string } }) => ({
        command_status: 'SUCCEEDED',
        command_result: await quote(Buffer.from(params.nonce, 'hex')),
      }),
    }),
  } as unknown as StepContext;
  const proved = { erased: [erasedDisk('ZC1')], skipped: [], agent_version: '1.4.0' };
  const quoted = await quoteWipe(context, proved);
  await db.insert(flowSteps).values({
    uuid: randomUUID(),
    flowUuid,
    position: 0,
    phase: 'main',
    interface: 'deploy',
    step: 'wipe_disks',
    priority: 0,
    origin: 'core',
    inBand: true,
    state: 'succeeded',
    endedAt: now,
    output: { ...proved, quoted },
  });
  const { envelope } = await signWipe(context);
  const [key] = await listReceiptKeys(db);
  const [file, keyPath] = [join(directory, 'receipt.json'), join(directory, 'key.pem')];
  await writeFile(file, envelope);
  await writeFile(keyPath, key?.publicKey ?? '');
  const { receipt } = verifyReceipt(envelope, readPublicKeys(key?.publicKey ?? '', 'key.pem'));
  return { file, key: keyPath, receipt };
}

const verify = (file: string, key: string) =>
  run('sh', [verifyScript, file, key], { cwd: directory, okExitCodes: [0, 1] });

test('a receipt is quoted by the TPM that has proved the boot, as OpenSSL and tpm2_checkquote find', async () => {
  const { file, key, receipt } = await wipe(await bootedAgent());
  expect(receipt.attestation).toMatchObject({
    verdict: 'unknown',
    reasons: [expect.stringContaining('there is none')],
    tpm: { certificate: expect.stringContaining('BEGIN CERTIFICATE') },
  });
  expect(receipt.tpm_quote_problem).toBeNull();
  const { stdout } = await verify(file, key);
  expect(stdout).toContain('Verified OK');
  expect(stdout).toContain('verdict on its boot: unknown');

  const payload = await readFile(join(directory, 'payload.json'));
  const beginning = payload.subarray(0, receipt.tpm_quote?.quoted_bytes);
  expect(beginning.toString()).toContain('ZC1');
  const nonce = createHash('sha256').update(beginning).digest('hex');
  const checkquote = (of: string) =>
    run('tpm2_checkquote', ['-u', 'ak.pem', '-m', 'quote.bin', '-s', 'quote.tpm', '-g', 'sha256', '-q', of], {
      cwd: directory,
      okExitCodes: [0, 1],
    });
  expect((await checkquote(nonce)).exitCode).toBe(0);
  expect((await checkquote('0'.repeat(64))).exitCode).toBe(1);
});

test('a quote over another receipt is not taken', async () => {
  const quote = await bootedAgent();
  const other = await quote(Buffer.alloc(32, 1));
  const { receipt } = await wipe(() => Promise.resolve(other));
  expect(receipt).toMatchObject({
    tpm_quote: null,
    tpm_quote_problem: 'the quote answers another question than was asked',
  });
});

test('a TPM whose PCRs have changed since the boot makes no quote, and the disks stay wiped', async () => {
  const quote = await bootedAgent();
  const { receipt } = await wipe(async (nonce) => {
    await tpm.tool('tpm2_pcrextend', `8:sha256=${'ab'.repeat(32)}`);
    return quote(nonce);
  });
  expect(receipt).toMatchObject({
    disks_wiped: [{ serial: 'ZC1' }],
    tpm_quote: null,
    tpm_quote_problem: 'since the boot was attested PCR 8 changed',
  });
});
