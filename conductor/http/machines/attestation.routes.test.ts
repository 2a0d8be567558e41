import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  findAgentSession,
  forgetAgentSession,
  insertAgentSession,
  noteAttestation,
} from '#conductor/agents/agent-session-store.ts';
import { bootProof } from '#conductor/agents/boot-proof.ts';
import { readServedBoot } from '#conductor/flows/network/served-boot.ts';
import { agentSessions } from '#conductor/kernel/db/schema/agent.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodePlace } from '#conductor/kernel/secrets/node-secrets.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { bootTokenHeader } from '#shared/wire/agent-calls.ts';
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
async function bootingNode(on: TestApi = api, driverInfo = {}): Promise<string> {
  const { uuid } = await on.call('POST', '/v1/nodes', { driver: 'fake-hardware', driver_info: driverInfo });
  await on.call('POST', '/v1/ports', { address: mac, node_uuid: uuid });
  await on.context.db.update(nodes).set({ provisionState: 'clean wait' });
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
    await bootingNode(off);
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
  const when = { fingerprint: '0'.repeat(64), attested_at: 'yesterday' };
  expect(await api.call('PUT', `/v1/nodes/${uuid}/tpm/accepted`, when)).toMatchObject({
    status: 400,
    fault: expect.stringContaining('attested_at: must be a time'),
  });
});

describe('where machines have to prove themselves', () => {
  let strict: TestApi;
  let uuid: string;
  const token = 'the token of this boot, which only its TPM gets';
  beforeAll(async () => {
    strict = await openTestApi({ settings: { BATON_ATTESTATION: 'require' } });
  });
  beforeEach(async () => {
    await strict.reset();
    uuid = await bootingNode(strict);
    await bootBy('redfish-virtual-media');
    await insertAgentSession(
      strict.context.db,
      uuid,
      strict.context.secrets.seal(token, nodePlace(uuid, 'agent_token')),
    );
  });
  afterAll(() => strict.close());

  const bootBy = (boot: string) => strict.context.db.update(nodes).set({ driver: 'redfish', interfaces: { boot } });
  const attested = async () => (await findAgentSession(strict.context.db, uuid))?.attestation ?? null;
  const lookUp = (headers: Record<string, string>) =>
    strict.call('GET', `/v1/lookup?addresses=${mac}`, undefined, '1.62', headers);

  test('a lookup without proof and an inspection report get no token, and people the reason', async () => {
    await strict.context.db.update(nodes).set({ provisionState: 'inspect wait' });
    const looked = await lookUp({ 'x-baton-attestation-problem': 'no TPM 2.0\u00e9' });
    expect(looked).toMatchObject({ status: 404, fault: 'Resource could not be found.' });
    const { body } = await strict.call('GET', `/v1/nodes/${uuid}/history?detail=true`);
    const events = (body['history'] as { event: string }[]).map(({ event }) => event);
    expect(events.join('\n')).toMatch(/attestation: require\): no TPM 2\.0\?/);

    const inventory = { interfaces: [{ name: 'eth0', mac_address: mac }] };
    const report = await strict.call('POST', '/v1/continue_inspection', { inventory }, '1.84');
    expect(report).toMatchObject({ status: 202, body: { config: { agent_token: '******' } } });
  });

  test('a machine without TPM ends the wait for it, if it shows that it was booted here', async () => {
    const problem = { 'x-baton-attestation-problem': 'this machine has no TPM 2.0' };
    await lookUp(problem);
    expect(await attested(), 'any stranger may ask so').toBeNull();
    await lookUp({ ...problem, [bootTokenHeader]: bootProof('another boot') });
    expect(await attested()).toBeNull();
    const answer = await lookUp({ ...problem, [bootTokenHeader]: bootProof(token) });
    expect(answer).toMatchObject({ status: 404, fault: 'Resource could not be found.' });
    expect(await attested()).toMatchObject({
      verdict: 'unknown',
      reasons: [expect.stringMatching(/has not proved .*: this machine has no TPM 2\.0$/)],
    });
  });

  test('by HTTP any stranger loads what the machine loads, which has no proof and ends no flow', async () => {
    await bootBy('http');
    const session = await findAgentSession(strict.context.db, uuid);
    if (!session) throw new Error('there is no session');
    const { params } = await readServedBoot(strict.context, await getNode(strict.context.db, uuid), session);
    expect(params.secrets).toEqual([]);
    for (const shown of [bootProof(token), token]) {
      const answer = await lookUp({ [bootTokenHeader]: shown });
      expect(answer).toMatchObject({ status: 404 });
      expect(await attested()).toBeNull();
    }
  });

  test('a boot that is trusted stays so, whatever a later asker shows', async () => {
    const session = await findAgentSession(strict.context.db, uuid);
    if (!session) throw new Error('there is no session');
    await noteAttestation(strict.context.db, session, { verdict: 'trusted', reasons: [], at: '' });
    await lookUp({ [bootTokenHeader]: bootProof(token) });
    expect(await attested()).toMatchObject({ verdict: 'trusted' });
  });

  test('the proof gets the token once its node has no longer to prove itself; over the network it is none', async () => {
    await strict.context.db.update(nodes).set({ driverInfo: { attestation: 'off' } });
    const answer = await lookUp({ [bootTokenHeader]: bootProof(token) });
    expect(answer).toMatchObject({ status: 200, body: { config: { agent_token: token } } });
    expect(await lookUp({ [bootTokenHeader]: bootProof('another boot') })).toMatchObject({ status: 404 });
    await bootBy('http');
    await strict.context.db.update(agentSessions).set({ bootMac: mac });
    expect(await lookUp({ [bootTokenHeader]: bootProof(token) })).toMatchObject({ status: 404 });
  });

  test('a plan says beforehand that a boot by iPXE fails', async () => {
    const login = { redfish_address: 'https://192.0.2.1', redfish_username: 'u', redfish_password: 'p' };
    const made = await strict.call('POST', '/v1/nodes', { driver: 'redfish', driver_info: login });
    await strict.context.db.update(nodes).set({ provisionState: 'manageable' });
    const { body, status } = await strict.call('POST', `/v1/nodes/${made.uuid}/plan`, { target: 'provide' });
    expect({ status, warnings: body['warnings'] }).toMatchObject({
      status: 200,
      warnings: expect.arrayContaining([expect.stringMatching(/^The flow fails before it boots the ramdisk.*iPXE/)]),
    });
  });

  test('so does an agent that attests nothing, and one whose proof is refused', async () => {
    await lookUp({ [bootTokenHeader]: bootProof(token) });
    expect(await attested()).toMatchObject({ verdict: 'unknown' });
    const headers = { [bootTokenHeader]: bootProof(token) };
    const keys = { addresses: [mac], ...(await keysOf(ecc)), ek_public: 'AAAA' };
    await strict.call('POST', '/v1/attestations', keys, '1.62', headers);
    expect(await attested()).toMatchObject({
      reasons: [expect.stringMatching(/^its proof is refused: the endorsement key/)],
    });
  });

  test('what a node was served is served to its end, and predicted by the settings of then', async () => {
    const read = async () => {
      const session = await findAgentSession(strict.context.db, uuid);
      if (!session) throw new Error('there is no session');
      return readServedBoot(strict.context, await getNode(strict.context.db, uuid), session);
    };
    const first = await read();
    expect(first.params.secrets, 'no medium has the token').toEqual([`ipa-agent-token=${bootProof(token)}`]);
    await strict.call('PATCH', `/v1/nodes/${uuid}`, [
      { op: 'add', path: '/driver_info/kernel_append_params', value: 'changed=1' },
    ]);
    expect(await read()).toEqual(first);
    await forgetAgentSession(strict.context.db, uuid);
    const next = { nodeUuid: uuid, token: strict.context.secrets.seal('next', nodePlace(uuid, 'agent_token')) };
    await insertAgentSession(strict.context.db, next.nodeUuid, next.token);
    expect((await read()).params.parameters).toContain('changed=1');
  });
});

test("a node's own setting counts before the conductor's", async () => {
  const off = await openTestApi();
  try {
    await bootingNode(off, { attestation: 'record' });
    const body = { addresses: [mac], ...(await keysOf(ecc)) };
    expect(await off.call('POST', '/v1/attestations', body)).toMatchObject({ status: 200 });
    const wrong = await off.call('POST', '/v1/nodes', { driver: 'fake-hardware', driver_info: { attestation: 'on' } });
    expect(wrong).toMatchObject({ status: 400, fault: expect.stringContaining('one of off, record, require') });
  } finally {
    await off.close();
  }
});
