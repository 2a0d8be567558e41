import { afterAll, beforeAll, expect, test } from 'vitest';
import { rememberFirmware } from '#conductor/flows/bmc/firmware-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test("a component's vendor, model and serial number are there since 1.114, and follow the part", async () => {
  const { uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' });
  const shown = async (version: string) =>
    (await api.call('GET', '/v1/nodes/n1/firmware', undefined, version)).body['firmware'];
  const remember = (nic: object) =>
    api.context.db.transaction((tx) =>
      rememberFirmware(
        tx,
        uuid,
        {
          components: [
            { component: 'bios', version: '1' },
            { component: 'bmc', version: '2', model: 'BMC 9' },
            { component: 'nic:1', version: '3', ...nic },
          ],
          fault: undefined,
          mayHide: () => false,
        },
        { now: new Date(0) },
      ),
    );
  await remember({ vendor: 'Acme', model: 'E810', serialNumber: 'S7' });
  const nothing = { vendor: null, model: null, serial_number: null };
  expect(await shown('1.114')).toMatchObject([
    { component: 'bios', ...nothing },
    { component: 'bmc', ...nothing, model: 'BMC 9' },
    { component: 'nic:1', vendor: 'Acme', model: 'E810', serial_number: 'S7' },
  ]);
  for (const component of (await shown('1.113')) as object[])
    expect(Object.keys(component)).not.toEqual(expect.arrayContaining(['vendor']));
  await remember({ vendor: 'Acme', model: 'E810', serialNumber: 'S8' });
  expect(await shown('1.114')).toMatchObject([{}, {}, { serial_number: 'S8' }]);
  // as an older release has stored it
  await api.context.db.execute(
    `update node_firmware set components = '[{"component":"bios","initial_version":null,"current_version":"1",
      "last_version_flashed":null,"created_at":"2026-01-01T00:00:00.000Z","updated_at":null}]'`,
  );
  expect(await shown('1.114')).toMatchObject([{ component: 'bios', ...nothing }]);
});
