import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { nodeTpms } from '#conductor/kernel/db/schema/tpm.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_ATTESTATION: 'record' } });
});
beforeEach(() => api.reset());
afterAll(() => api.close());

const bootedAt = new Date('2026-11-30T10:00:00Z');
const later = new Date('2026-11-30T11:00:00Z');
const said = 'The newest attested boot was not trusted (changed): the firmware changed 1.2 → 1.3 (PCR 0).';

/** Warnings of a plan that are about the boot's verdict. */
async function warned(tpm: Partial<typeof nodeTpms.$inferInsert>, driverInfo = {}): Promise<string[]> {
  const { uuid } = await api.call('POST', '/v1/nodes', {
    driver: 'fake-hardware',
    driver_info: driverInfo,
    deploy_interface: 'direct',
  });
  const reasons = ['the firmware changed 1.2 → 1.3 (PCR 0)'];
  const row = { verdict: 'changed', reasons, seenAt: bootedAt, acceptedAt: bootedAt, ...tpm } as const;
  await api.context.db.insert(nodeTpms).values({ nodeUuid: uuid, ekPublic: '', ...row });
  const { status, body } = await api.call('POST', `/v1/nodes/${uuid}/plan`, { target: 'rebuild' });
  expect(status).toBe(200);
  return (body['warnings'] as string[]).filter((each) => each.includes('trusted'));
}

test('a plan warns of a newest boot that was not trusted, also where boots are only recorded', async () => {
  expect(await warned({})).toEqual([said]);
});

test.each([
  ['a trusted one', { verdict: 'trusted', reasons: [] }, {}],
  ['one that somebody has accepted since', { acceptedAt: later, acceptedBy: 'alice' }, {}],
  ['a node whose boots are not attested', {}, { attestation: 'off' }],
] as const)('it does not warn of %s', async (_, tpm, driverInfo) => {
  expect(await warned({ ...tpm, reasons: 'reasons' in tpm ? [] : ['changed'] }, driverInfo)).toEqual([]);
});

test('an acceptance before that boot does not count', async () => {
  const before = new Date('2026-11-30T09:00:00Z');
  expect(await warned({ acceptedAt: before, acceptedBy: 'alice' })).toEqual([said]);
});
