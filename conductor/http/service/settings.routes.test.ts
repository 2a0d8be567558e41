import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_CONDUCTOR_NAME: 'c1', BATON_MAX_ACTIVE_NODES: '7' } });
});
afterAll(() => api.close());

test('settings in force say their values and where those are from', async () => {
  const { conductor, settings } = (await api.call('GET', '/v1/settings')).body as unknown as {
    conductor: string;
    settings: { name: string; value: string; from: string }[];
  };
  expect(conductor).toBe('c1');
  const find = (wanted: string) => settings.find(({ name }) => name === wanted);
  expect(find('BATON_MAX_ACTIVE_NODES')).toMatchObject({ value: '7', from: 'environment', default: '100' });
  expect(find('BATON_RECONCILE_INTERVAL')).toBeDefined();
});
