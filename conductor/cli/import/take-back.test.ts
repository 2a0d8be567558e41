import { expect, test } from 'vitest';
import { bringFleet } from '#conductor/cli/import/bring-fleet.ts';
import { readCsv } from '#conductor/cli/import/read-csv.ts';
import { takeBack } from '#conductor/cli/import/take-back.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';

const found = {
  uuid: 'u1',
  name: 'n1',
  driver: 'redfish',
  driver_info: { redfish_address: 'https://192.0.2.1' },
  driver_internal_info: {},
  extra: { imported_from: 'f.csv' },
  maintenance: false,
  protected: false,
  provision_state: 'active',
  target_provision_state: null,
  reservation: null,
};
const flowEntries = (...events: string[]) =>
  events.map((event, index) => ({ uuid: `h${index}`, event_type: 'flow', event }));

/** A conductor with one node, its history and its last flow; notes what is sent. */
function fakeApi(more: object = {}, events: readonly Json[] = [], kind = 'adopt') {
  const sent: string[] = [];
  const call = (method: string, path: string, body?: unknown): Promise<Json | undefined> => {
    if (method !== 'GET') sent.push(`${method} ${path} ${body === undefined ? '' : JSON.stringify(body)}`.trim());
    if (path.endsWith('/flow')) return Promise.resolve({ kind });
    if (path.includes('/history')) return Promise.resolve({ history: events });
    if (/\/(ports|portgroups)\b/.test(path)) return Promise.resolve({});
    return Promise.resolve({ ...found, ...more });
  };
  return { sent, client: { call, download: () => Promise.reject(new Error('none')) } };
}

const fleet = readCsv('name,address,adopt\nn1,192.0.2.1,yes\n', 'f.csv');

test('a node that only an import touched is taken out, with its state in the dry run', async () => {
  const { client, sent } = fakeApi({}, flowEntries('verify succeeded after 1 s', 'adopt succeeded after 1 s'));
  expect(await takeBack(fleet, { client, isDryRun: true })).toEqual([{ name: 'n1', state: 'active' }]);
  expect(sent).toEqual([]);
  await takeBack(fleet, { client, isDryRun: false });
  expect(sent.at(-1)).toBe('DELETE /v1/nodes/n1');
});

test.each([
  ['another source', { extra: { imported_from: 'g.csv' } }, 'it was imported from g.csv, not from f.csv'],
  ['no mark', { extra: {} }, 'no import made it'],
  ['another BMC', { driver_info: { redfish_address: 'https://192.0.2.7' } }, "it is another machine than the source's"],
  ['a way to go', { target_provision_state: 'active', provision_state: 'deploying' }, 'it is in deploying, on the way'],
  ['a reservation', { reservation: 'c1' }, 'c1 is at work on it'],
  [
    'a power hold',
    { driver_internal_info: { baton_power_hold: { until: '2030' } } },
    'must not be switched until 2030',
  ],
  ['an owed wipe', { driver_internal_info: { baton_owed_wipe: {} } }, 'a wipe of its disks is owed'],
])('a node with %s stays', async (_, more, words) => {
  const { client, sent } = fakeApi(more);
  const [taken] = await takeBack(fleet, { client, isDryRun: false });
  expect(taken?.error).toContain(words);
  expect(sent).toEqual([]);
});

test.each([
  [flowEntries('adopt succeeded after 1 s', 'deploy succeeded after 9 s'), 'adopt'],
  [[], 'deploy'],
])('a node that Baton has deployed since stays: %j, %s', async (events, kind) => {
  const { client, sent } = fakeApi({}, events, kind);
  const [taken] = await takeBack(fleet, { client, isDryRun: false });
  expect(taken?.error).toContain('Baton has worked on it since (deploy)');
  expect(sent).toEqual([]);
});

const bring = (client: ReturnType<typeof fakeApi>['client'], ticks: number[] = []) =>
  bringFleet(fleet, {
    client,
    clock: {
      now: () => new Date(ticks.length * 60_000),
      sleep: () => {
        ticks.push(1);
        return Promise.resolve();
      },
    },
    onResult: () => undefined,
  });

test('a second run does not adopt a node that Baton has cleaned since, or one in maintenance', async () => {
  const cleaned = fakeApi({ provision_state: 'manageable' }, flowEntries('clean succeeded after 9 s'));
  expect((await bring(cleaned.client))[0]).toMatchObject({ outcome: 'failed', state: 'manageable' });
  expect(cleaned.sent).toEqual([]);
  const kept = fakeApi({ provision_state: 'manageable', maintenance: true });
  expect((await bring(kept.client))[0]?.details[0]).toContain('it is in maintenance: adopt would wait');
  expect(kept.sent).toEqual([]);
});

test('a node that waits for a person, or never rests, is left', async () => {
  const held = fakeApi({ provision_state: 'deploy hold', target_provision_state: 'active' });
  const ticks: number[] = [];
  expect((await bring(held.client, ticks))[0]?.details[0]).toBe('it is in deploy hold, and was left');
  expect(ticks).toHaveLength(0);
  const busy = fakeApi({ provision_state: 'cleaning', target_provision_state: 'available' });
  expect((await bring(busy.client, ticks))[0]?.details[0]).toContain('it is still in cleaning after ten minutes');
});
