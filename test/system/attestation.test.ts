import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Attester, createAttester } from '#agent/attest.ts';
import { createTpm } from '#agent/tpm/tpm.ts';
import { NodeTpm, type NodeTpmAnswer } from '#conductor/api/attestation.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { listHistory } from '#conductor/nodes/node-history.ts';
import { silentLog } from '#shared/log.ts';
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

test('firmware that changed, and another TPM, are told until they are accepted', async () => {
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
