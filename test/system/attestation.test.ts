import { createHash, verify } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Attester, createAttester } from '#agent/attest.ts';
import { createTpm } from '#agent/tpm/tpm.ts';
import { NodeTpm, type NodeTpmAnswer } from '#conductor/api/attestation.ts';
import { readBootFacts } from '#conductor/flows/request/read-boot-facts.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { webhookDeliveries } from '#conductor/kernel/db/schema/webhook.ts';
import { openEnvelope, preAuthEncoding } from '#conductor/model/receipts/envelope.ts';
import { listHistory } from '#conductor/nodes/node-history.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { checkTpm } from '#conductor/nodes/tpm/check-tpm.ts';
import { findNodeTpm } from '#conductor/nodes/tpm/tpm-store.ts';
import { listReceiptKeys } from '#conductor/receipts/signing-key-store.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { LookupAnswer } from '#shared/wire/agent-calls.ts';
import { type SoftwareTpm, type SoftwareTpmOptions, startSwtpm } from '#test/support/swtpm.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** The agent's half and the conductor's, with a real TPM in software, and a firmware whose log the test writes. */

const mac = '52:54:00:00:00:01';
let api: TestApi;
let uuid: string;
const running: SoftwareTpm[] = [];

beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_ATTESTATION: 'record' } });
});
beforeEach(async () => {
  await api.reset();
  ({ uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' }));
  await api.call('POST', '/v1/ports', { address: mac, node_uuid: uuid });
  await api.context.db.update(nodes).set({ provisionState: 'clean wait' });
});
afterEach(async () => {
  for (const tpm of running.splice(0)) await tpm.stop();
});
afterAll(() => api.close());

async function startTpm(options: SoftwareTpmOptions = {}): Promise<SoftwareTpm> {
  const tpm = await startSwtpm(options);
  running.push(tpm);
  return tpm;
}

/** A log of one event, in the form that firmware writes, and the PCR extended by it. */
async function measureFirmware(tpm: SoftwareTpm, text: string): Promise<Buffer> {
  const data = Buffer.from(`${text}\0`, 'utf16le');
  const digest = createHash('sha256').update(data).digest();
  await tpm.tool('tpm2_pcrextend', `0:sha256=${digest.toString('hex')}`);
  const u32 = (...numbers: number[]) => Buffer.concat(numbers.map((n) => Buffer.from(Uint32Array.of(n).buffer)));
  const u16 = (...numbers: number[]) => Buffer.concat(numbers.map((n) => Buffer.from(Uint16Array.of(n).buffer)));
  const header = [
    Buffer.from('Spec ID Event03\0'),
    u32(0),
    Buffer.from([0, 2, 0, 2]),
    u32(1),
    u16(0x0b, 32),
    Buffer.alloc(1),
  ];
  const length = Buffer.concat(header).length;
  return Buffer.concat([
    u32(0, 3),
    Buffer.alloc(20),
    u32(length),
    ...header,
    u32(0, 8, 1),
    u16(0x0b),
    digest,
    u32(data.length),
    data,
  ]);
}

function attesterOf(tpm: SoftwareTpm, log: Buffer | undefined): Attester {
  const readEventLog = () => Promise.resolve(log === undefined ? { problem: 'there is none' } : { log });
  const openTpm = async (_: unknown, signal: AbortSignal) => ({
    tpm: createTpm(await tpm.connect(), { log: silentLog, signal }),
    readEventLog,
  });
  return createAttester(openTpm, { log: silentLog, say: () => undefined });
}

/** Has the machine with that TPM ask. @returns the lookup's answer */
async function boot(tpm: SoftwareTpm, log: Buffer | undefined): Promise<LookupAnswer> {
  const attester = attesterOf(tpm, log);
  try {
    const attested = await attester.attest({
      addresses: [mac],
      post: async (path, body) => {
        const { status, body: answer } = await api.call('POST', path, body, '1.62');
        return { status, body: answer };
      },
      signal: new AbortController().signal,
    });
    return LookupAnswer.parse('lookup' in attested ? attested.lookup : attested);
  } finally {
    await attester.release();
  }
}

const show = async (): Promise<NodeTpmAnswer> => NodeTpm.parse((await api.call('GET', '/v1/nodes/n1/tpm')).body);
const accept = (fingerprint: string) => api.call('PUT', '/v1/nodes/n1/tpm/accepted', { fingerprint });
const history = async () =>
  (await listHistory(api.context.db, uuid, 50)).filter(({ eventType }) => eventType === 'attestation');

test.each([{ certificate: true }, { certificate: false }])(
  'a machine is known by its TPM, and gets its token by it (certificate: $certificate)',
  async (options) => {
    const tpm = await startTpm(options);
    const log = await measureFirmware(tpm, '1.2');
    const { node, config } = await boot(tpm, log);
    expect({ uuid: node.uuid, token: config?.agent_token }).toEqual({
      uuid,
      token: expect.stringMatching(/^[\w-]{43}$/),
    });
    const seen = await show();
    expect(seen).toMatchObject({
      verdict: 'unknown',
      reasons: [expect.stringContaining('iPXE')],
      boot: { firmware_version: '1.2', secure_boot: null },
      accepted: { boot: seen.boot, by: null },
      other: null,
    });
    expect(seen.tpm.certificate === null).toBe(!options.certificate);
    expect(seen.tpm.endorsement_key).toContain('BEGIN PUBLIC KEY');
  },
);

test("a TPM's certificate is checked against the CA of its vendor, swtpm's own", async () => {
  await boot(await startTpm(), undefined);
  expect((await show()).tpm).toMatchObject({
    certificate_state: 'unknown',
    certificate_detail: expect.stringContaining('BATON_TPM_CA_DIR'),
  });
  const folder = await mkdtemp(join(tmpdir(), 'baton-vendors-'));
  try {
    const shown = async (tpmCaDirectory: string) => {
      const row = await findNodeTpm(api.context.db, uuid);
      if (!row) throw new Error('nothing was attested');
      const context = { config: { tpmCaDirectory }, clock: api.context.clock };
      return checkTpm(context, row.ekPublic, row.ekCertificate);
    };
    expect(await shown(folder), 'of nobody').toMatchObject({ state: 'unknown' });
    await cp('/var/lib/swtpm-localca/issuercert.pem', join(folder, 'issuer.pem'));
    expect(await shown(folder)).toMatchObject({ detail: expect.stringContaining('swtpm-localca-rootca') });
    await cp('/var/lib/swtpm-localca/swtpm-localca-rootca-cert.pem', join(folder, 'root.pem'));
    expect(await shown(folder)).toEqual({ state: 'certified', detail: 'CN=swtpm-localca-rootca' });
    await writeFile(join(folder, 'notes.txt'), 'no certificate');
    expect(await shown(folder)).toMatchObject({ state: 'unknown', detail: expect.stringContaining('notes.txt') });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a TPM that no vendor vouches for stays unknown until somebody has accepted it, known or not', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-vendors-'));
  const strict = { ...api.context, config: { ...api.context.config, tpmCaDirectory: folder } };
  try {
    await boot(await startTpm({ certificate: false }), undefined);
    const row = await findNodeTpm(api.context.db, uuid);
    const node = await getNode(api.context.db, uuid);
    if (!row) throw new Error('nothing was attested');
    const { ekPublic } = row;
    const from = { ekPublic, ekCertificate: undefined, session: undefined, answer: {}, pcrValues: new Map() };
    expect((await readBootFacts(strict, node, from)).stranger).toContain('no vendor vouches for its TPM');
    await accept((await show()).tpm.fingerprint);
    expect((await readBootFacts(strict, node, from)).stranger).toBeUndefined();
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a tenant's own verifier goes on from the key that the conductor has signed", async () => {
  const tpm = await startTpm();
  await boot(tpm, undefined);
  const { attestation_key: key, tpm: known } = await show();
  const folder = await mkdtemp(join(tmpdir(), 'baton-tenant-'));
  try {
    const at = (name: string) => join(folder, name);
    // the tenant knows the conductor's public key
    const [signer] = await listReceiptKeys(api.context.db);
    const { payload, payloadType, signatures } = JSON.parse(key?.statement ?? '') as {
      payload: string;
      payloadType: string;
      signatures: { sig: string }[];
    };
    const statement = Buffer.from(payload, 'base64');
    const signature = Buffer.from(signatures[0]?.sig ?? '', 'base64');
    expect(verify(null, preAuthEncoding(payloadType, statement), signer?.publicKey ?? '', signature)).toBe(true);
    expect(() => openEnvelope(key?.statement ?? '', []), 'no receipt is made of it').toThrow('not a receipt');
    expect(JSON.parse(statement.toString())).toMatchObject({
      kind: 'AttestationKey',
      node: uuid,
      tpm: { fingerprint: known.fingerprint },
      attestation_key: key?.public_key,
    });

    // its instance has the TPM make that key again, and quotes with it
    const unique = Buffer.from(key?.unique ?? '', 'base64');
    const parameter = (bytes: Buffer) => {
      const field = Buffer.alloc(2 + 128); // TPM2B_ECC_PARAMETER as tpm2-tools has it in memory
      field.writeUInt16LE(bytes.length);
      bytes.copy(field, 2);
      return field;
    };
    await writeFile(at('unique'), Buffer.concat([parameter(unique.subarray(0, 32)), parameter(unique.subarray(32))]));
    const attributes = 'fixedtpm|fixedparent|sensitivedataorigin|userwithauth|restricted|sign';
    const made = ['-C', 'e', '-g', 'sha256', '-G', 'ecc256:ecdsa-sha256:null', '-a', attributes, '-u', at('unique')];
    await tpm.tool('tpm2_createprimary', ...made, '-c', at('ak'));
    await tpm.tool('tpm2_readpublic', '-c', at('ak'), '-f', 'pem', '-o', at('ak.pem'));
    expect(await readFile(at('ak.pem'), 'utf8')).toBe(key?.public_key);
    const asked = ['-q', 'ab'.repeat(32), '-g', 'sha256'];
    await tpm.tool('tpm2_quote', '-c', at('ak'), ...asked, '-l', 'sha256:0,7', '-m', at('quote'), '-s', at('sig'));
    await writeFile(at('given.pem'), key?.public_key ?? '');
    await run('tpm2_checkquote', ['-u', at('given.pem'), '-m', at('quote'), '-s', at('sig'), ...asked]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** Lists what webhooks get of the TPM, oldest first. */
async function reported(): Promise<unknown[]> {
  const sent = await api.context.db.select().from(webhookDeliveries).orderBy(webhookDeliveries.id);
  return sent.flatMap(({ eventType, body }) => (eventType === 'node.attestation' ? [body['data']] : []));
}

test('firmware that changed, and another TPM, are told until they are accepted', async () => {
  const hook = { name: 'all', url: 'http://127.0.0.1:9/', events: ['node'] };
  expect(await api.call('POST', '/v1/webhooks', hook)).toMatchObject({ status: 201 });
  const tpm = await startTpm();
  await boot(tpm, await measureFirmware(tpm, '1.2'));
  const first = await show();

  // a machine is switched off in between; here its PCR only grows
  await boot(tpm, undefined);
  expect(await show()).toMatchObject({
    verdict: 'unknown',
    boot: null,
    reasons: [expect.stringContaining('there is none')],
  });

  const other = await startTpm();
  await boot(other, await measureFirmware(other, '1.3'));
  const second = await show();
  expect(second).toMatchObject({ verdict: 'unknown', tpm: first.tpm, other: { boot: { firmware_version: '1.3' } } });
  const [newest] = (await history()).filter(({ severity }) => severity === 'ERROR');
  expect(newest?.event).toContain('it is another TPM than the one that the node is known by');
  expect(newest?.event).toContain('the firmware changed 1.2 → 1.3 (PCR 0)');

  const wrong = await accept('0'.repeat(64));
  expect(wrong).toMatchObject({ status: 409, fault: expect.stringContaining(first.tpm.fingerprint) });
  expect((await accept(second.other?.tpm.fingerprint ?? '')).status).toBe(200);
  expect(await show()).toMatchObject({ tpm: second.other?.tpm, other: null });
  const own = { tpm: first.tpm.fingerprint, another: false, accepted_by: null };
  const others = { ...own, tpm: second.other?.tpm.fingerprint };
  expect(await reported()).toMatchObject([
    { ...own, from: null, verdict: 'unknown', reasons: first.reasons },
    { ...own, from: 'unknown', verdict: 'unknown', reasons: [expect.stringContaining('there is none')] },
    { ...others, from: 'unknown', verdict: 'changed', another: true },
    { ...others, from: 'unknown', verdict: 'unknown', accepted_by: 'a caller without login' },
  ]);
});

test('a log that does not give what was quoted says nothing', async () => {
  const tpm = await startTpm();
  const log = await measureFirmware(tpm, '1.2');
  log.write('9', log.length - 6, 'utf16le');
  await boot(tpm, log);
  expect((await show()).boot, 'the digest counts, not the text').toMatchObject({ firmware_version: null });
  const digestAt = log.indexOf(Buffer.from([0x0b, 0x00]), 70) + 2;
  log[digestAt] = (log[digestAt] ?? 0) ^ 1;
  await boot(tpm, log);
  expect(await show()).toMatchObject({
    verdict: 'unknown',
    boot: null,
    reasons: ['the event log does not add up to the quote (PCR 0)'],
  });
});
