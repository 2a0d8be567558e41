import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { nodeTpms } from '#conductor/kernel/db/schema/tpm.ts';
import { tpmFingerprint } from '#conductor/model/tpm/public-area.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let ekPublic: string;
const as = new Map<string, string>();
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_AUTH: 'token' } });
  const [recorded] = await readRecordings('tpm/quotes', z.looseObject({}));
  ekPublic = (recorded?.outputs['tpm2_createek'] ?? '').replaceAll(/\s/g, '');
});
beforeEach(() => api.reset());
afterAll(() => api.close());
beforeAll(async () => {
  for (const project of [undefined, 'ours', 'theirs']) {
    const { token } = await api.context.auth.tokens.create({ name: project ?? 'all', role: 'admin', project });
    as.set(project ?? 'all', token);
  }
});

const call = (who: string, method: string, path: string, body?: unknown) =>
  api.call(method, path, body, undefined, { Authorization: `Bearer ${as.get(who)}` });

/** A node of a project with that verdict. */
async function attested(name: string, owner: string, tpm: Partial<typeof nodeTpms.$inferInsert> = {}): Promise<string> {
  const { uuid } = await call('all', 'POST', '/v1/nodes', { name, driver: 'fake-hardware', owner });
  const reasons = ['the firmware changed (PCR 0)'];
  await api.context.db.insert(nodeTpms).values({ nodeUuid: uuid, ekPublic, verdict: 'changed', reasons, ...tpm });
  return uuid;
}

test('the list has each node whose TPM is known, page by page, and of a project its own', async () => {
  const uuid = await attested('n1', 'ours');
  await attested('n2', 'theirs', { verdict: 'trusted', reasons: [] });
  await call('all', 'POST', '/v1/nodes', { name: 'never', driver: 'fake-hardware', owner: 'ours' });
  const names = async (who: string, query = '') => {
    const { body } = await call(who, 'GET', `/v1/tpms${query}`);
    return [(body['tpms'] as { name: string }[]).map(({ name }) => name), body['next']];
  };
  expect((await call('ours', 'GET', '/v1/tpms')).body).toEqual({
    tpms: [
      {
        uuid,
        name: 'n1',
        fingerprint: tpmFingerprint(ekPublic),
        attested_at: expect.stringMatching(/^\d{4}-/),
        verdict: 'changed',
        reasons: ['the firmware changed (PCR 0)'],
        accepted: false,
        another: false,
      },
    ],
  });
  expect(await names('all')).toEqual([['n1', 'n2'], undefined]);
  expect(await names('all', '?limit=1')).toEqual([['n1'], expect.stringContaining(`marker=${uuid}`)]);
  expect(await names('all', `?limit=1&marker=${uuid}`)).toEqual([['n2'], expect.stringContaining('marker=')]);
  expect(await call('all', 'GET', '/v1/tpms?marker=x')).toMatchObject({ status: 400 });
});

test('a boot that was accepted says so in the list', async () => {
  const uuid = await attested('n1', 'ours');
  const body = { fingerprint: tpmFingerprint(ekPublic) };
  expect(await call('ours', 'PUT', `/v1/nodes/${uuid}/tpm/accepted`, body)).toMatchObject({ status: 200 });
  const { body: list } = await call('all', 'GET', '/v1/tpms');
  expect(list['tpms']).toMatchObject([{ verdict: 'changed', accepted: true }]);
});
