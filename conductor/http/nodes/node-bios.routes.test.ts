import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { replaceBiosSettings } from '#conductor/flows/bmc/bios-store.ts';
import { bareSetting } from '#shared/bios/bios-setting.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let uuid: string;
const read = new Date('2026-11-21T12:00:00Z');
const settings = [
  { ...bareSetting('NumCores', '8'), attribute_type: 'Integer', lower_bound: 1, upper_bound: 8, reset_required: true },
  { ...bareSetting('BootMode', 'Uefi'), attribute_type: 'Enumeration', allowable_values: ['Uefi', 'Bios'] },
];

beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await api.reset();
  ({ uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' }));
  await store(settings, read);
});
afterAll(() => api.close());

const store = (some: typeof settings, now: Date) =>
  api.context.db.transaction((tx) => replaceBiosSettings(tx, uuid, some, now));
const get = (path: string, version?: string) => api.call('GET', `/v1/nodes/n1/bios${path}`, undefined, version);

const links = (name: string) => [
  { href: `http://api.example/v1/nodes/${uuid}/bios/${name}`, rel: 'self' },
  { href: `http://api.example/nodes/${uuid}/bios/${name}`, rel: 'bookmark' },
];

describe('list', () => {
  test('names and values, by name', async () => {
    const { status, body } = await get('', '1.40');
    expect(status).toBe(200);
    const times = { created_at: '2026-11-21T12:00:00.000000+00:00', updated_at: null };
    expect(body).toEqual({
      bios: [
        { name: 'BootMode', value: 'Uefi', ...times, links: links('BootMode') },
        { name: 'NumCores', value: '8', ...times, links: links('NumCores') },
      ],
    });
  });

  test('detail tells what is known of each', async () => {
    const { body } = await get('?detail=true', '1.74');
    expect((body['bios'] as unknown[])[1]).toMatchObject({
      name: 'NumCores',
      attribute_type: 'Integer',
      allowable_values: null,
      lower_bound: 1,
      upper_bound: 8,
      min_length: null,
      max_length: null,
      read_only: null,
      reset_required: true,
      unique: null,
    });
  });

  test('fields are chosen', async () => {
    const { body } = await get('?fields=name,attribute_type');
    expect((body['bios'] as unknown[])[0]).toEqual({
      name: 'BootMode',
      attribute_type: 'Enumeration',
      links: links('BootMode'),
    });
  });

  test.each([
    ['?detail=true', '1.73', 400, 'Invalid query parameter ?detail=true received.'],
    ['?fields=name', '1.73', 400, 'Invalid query parameter ?fields=name received.'],
    ['?detail=true&fields=name', '1.74', 400, "Can't fetch a subset of fields with 'detail' set."],
    ['?fields=colour', '1.74', 400, 'a BIOS setting has no field colour'],
    ['', '1.39', 404, 'it needs API version 1.40'],
  ])('%s with %s is refused', async (query, version, status, message) => {
    const answer = await get(query, version);
    expect([answer.status, answer.fault]).toEqual([status, expect.stringContaining(message)]);
  });
});

describe('one', () => {
  test('stands under its name, with all that is known since 1.74', async () => {
    expect((await get('/NumCores', '1.73')).body).toEqual({
      NumCores: expect.not.objectContaining({ attribute_type: 'Integer' }) as unknown,
    });
    expect((await get('/NumCores')).body).toMatchObject({
      NumCores: { name: 'NumCores', value: '8', attribute_type: 'Integer', links: links('NumCores') },
    });
  });

  test('one that is not there is named', async () => {
    const { status, fault } = await get('/Nope');
    expect([status, fault]).toEqual([404, `Node ${uuid} doesn't have a BIOS setting 'Nope'`]);
  });
});

test('what was read again replaces what was read before, and only what differs has a new time', async () => {
  const later = new Date('2026-11-21T13:00:00Z');
  const [cores] = settings;
  if (cores) await store([{ ...cores, value: '4' }], later);
  const { body } = await get('');
  expect(body['bios']).toMatchObject([
    { name: 'NumCores', value: '4', updated_at: '2026-11-21T13:00:00.000000+00:00' },
  ]);
  if (cores) await store([{ ...cores, value: '4' }], new Date());
  expect((await get('')).body).toEqual(body);
});
