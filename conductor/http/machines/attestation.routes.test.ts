import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { quotedPcrs } from '#shared/wire/attestation.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** Calls by which a TPM proves itself, with recorded keys; with a real TPM: `test/system/attestation.test.ts`. */

const [rsa, ecc] = ['rsa', 'ecc'].map((kind) => async () => {
  const recordings = await readRecordings('tpm/quotes', z.looseObject({ kind: z.string() }));
  const outputs = recordings.find(({ reading }) => reading.kind === kind)?.outputs ?? {};
  const bytes = (name: string) => (outputs[name] ?? '').replaceAll(/\s/g, '');
  const lines = (outputs['tpm2_quote pcrs'] ?? '').trim().split('\n');
  return {
    ek_public: bytes('tpm2_createek'),
    ak_public: bytes('tpm2_createak'),
    quote: bytes('tpm2_quote message'),
    signature: bytes('tpm2_quote signature'),
    pcr_values: Object.fromEntries(lines.map((line) => line.split(': ') as [string, string])),
  };
});
const keysOf = async (kind: typeof rsa) => {
  const { ek_public, ak_public } = (await kind?.()) ?? { ek_public: '', ak_public: '' };
  return { ek_public, ak_public };
};

const mac = '52:54:00:00:00:01';
let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_ATTESTATION: 'record' } });
});
beforeEach(() => api.reset());
afterAll(() => api.close());

/** A node that waits for its ramdisk. */
async function bootingNode(): Promise<string> {
  const { uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' });
  await api.call('POST', '/v1/ports', { address: mac, node_uuid: uuid });
  await api.context.db.update(nodes).set({ provisionState: 'clean wait' });
  return uuid;
}

const ask = (body: Record<string, unknown>) => api.call('POST', '/v1/attestations', body);

describe.each([
  ['RSA', rsa],
  ['ECC', ecc],
])('%s', (_, kind) => {
  test('a booting machine gets another challenge each time; a quote of another time is none', async () => {
    await bootingNode();
    const first = await ask({ addresses: [mac], ...(await keysOf(kind)) });
    expect(first).toMatchObject({ status: 200 });
    const second = await ask({ addresses: [mac], ...(await keysOf(kind)) });
    expect(second.body['nonce']).not.toBe(first.body['nonce']);
    const { quote, signature, pcr_values } = (await kind?.()) ?? {};
    const answer = { challenge: first.body['challenge'], quote, signature, pcr_values };
    const replayed = await api.call('POST', '/v1/attestations/answer', { ...answer, proof: '0'.repeat(64) });
    expect(replayed).toMatchObject({
      status: 403,
      fault: expect.stringContaining('the machine has not opened the credential'),
    });
  });
});

test('unknown machines, and all where nothing is attested, get what a lookup gets', async () => {
  const unknown = await ask({ addresses: [mac], ...(await keysOf(ecc)) });
  expect(unknown).toMatchObject({ status: 404, fault: 'Resource could not be found.' });
  const off = await openTestApi();
  try {
    const answer = await off.call('POST', '/v1/attestations', { addresses: [mac], ...(await keysOf(ecc)) });
    expect(answer).toMatchObject({ status: 404, fault: expect.stringContaining('BATON_ATTESTATION') });
  } finally {
    await off.close();
  }
});

test.each([
  ['ek_public', 'AAAA', 'the endorsement key has 1 bytes too many'],
  ['ak_public', '', 'the attestation key ends in the middle'],
  ['ek_public', 'no base64!', 'ek_public'],
  ['ek_public', 'A'.repeat(64 * 1024), 'ek_public'],
  ['addresses', [], 'addresses'],
  ['more', 1, 'Unexpected arguments: more'],
])('%s = %j is refused by its name', async (field, value, fault) => {
  await bootingNode();
  const answer = await ask({ addresses: [mac], ...(await keysOf(ecc)), [field]: value });
  expect(answer).toMatchObject({ status: 400, fault: expect.stringContaining(fault) });
});

test('a challenge that nobody has sealed, or of too long ago, is refused', async () => {
  const answer = {
    quote: 'AAAA',
    signature: 'AAAA',
    pcr_values: { [quotedPcrs[0]]: '0'.repeat(64) },
    proof: '0'.repeat(64),
  };
  const made = await api.call('POST', '/v1/attestations/answer', { ...answer, challenge: 'made up' });
  expect(made).toMatchObject({ status: 400, fault: expect.stringContaining('challenge') });
});

test('a node that was never attested says why', async () => {
  const uuid = await bootingNode();
  for (const [method, path, body] of [
    ['GET', 'tpm', undefined],
    ['PUT', 'tpm/accepted', { fingerprint: '0'.repeat(64) }],
  ] as const) {
    const answer = await api.call(method, `/v1/nodes/${uuid}/${path}`, body);
    expect(answer).toMatchObject({ status: 404, fault: expect.stringContaining('has no TPM 2.0') });
  }
  const bad = await api.call('PUT', `/v1/nodes/${uuid}/tpm/accepted`, { fingerprint: 'x' });
  expect(bad).toMatchObject({ status: 400, fault: expect.stringContaining('must be 64 hex digits') });
});

describe('where machines have to prove themselves', () => {
  test('a lookup without proof and an inspection report get no token, and people the reason', async () => {
    const strict = await openTestApi({ settings: { BATON_ATTESTATION: 'require' } });
    try {
      const { uuid } = await strict.call('POST', '/v1/nodes', { driver: 'fake-hardware' });
      await strict.call('POST', '/v1/ports', { address: mac, node_uuid: uuid });
      await strict.context.db.update(nodes).set({ provisionState: 'inspect wait' });
      const headers = { 'x-baton-attestation-problem': 'no TPM 2.0\u00e9' };
      const looked = await strict.call('GET', `/v1/lookup?addresses=${mac}`, undefined, '1.62', headers);
      expect(looked).toMatchObject({ status: 404, fault: 'Resource could not be found.' });
      const { body } = await strict.call('GET', `/v1/nodes/${uuid}/history?detail=true`);
      const events = (body['history'] as { event: string }[]).map(({ event }) => event);
      expect(events.join('\n')).toMatch(/BATON_ATTESTATION=require\): no TPM 2\.0\?/);

      const inventory = { interfaces: [{ name: 'eth0', mac_address: mac }] };
      const report = await strict.call('POST', '/v1/continue_inspection', { inventory }, '1.84');
      expect(report).toMatchObject({ status: 202, body: { config: { agent_token: '******' } } });
    } finally {
      await strict.close();
    }
  });
});
