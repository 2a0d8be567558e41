import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JournalEntry } from '#conductor/cluster/journal.ts';
import { recordByHand } from '#conductor/http/sites/record-by-hand.ts';
import { listHistory } from '#conductor/nodes/node-history.ts';
import { readMemberships } from '#conductor/sites/nodes/membership-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const member = (of: string, result: JournalEntry['result']): JournalEntry => ({
  change: { kind: 'etcd member', name: 'n1', of, message: `n1 leaves ${of}` },
  result,
});

test('a member that was taken out by hand is waited for after a redeploy, like one that an action took out', async () => {
  const { uuid } = await api.call('POST', '/v1/nodes', { name: 'n1', driver: 'fake-hardware' });
  const journal = recordByHand(api.context, { user: 'ada', project: undefined }, { node: 'n1', verb: 'remove-etcd' });
  await journal([member('kubernetes', 'done'), member('calico', 'unknown'), member('kept', 'refused')]);
  const known = (await readMemberships(api.context.db, [uuid])).get(uuid);
  expect(known?.etcdClusters).toEqual(['kubernetes', 'calico']);
  const { body } = await api.call('GET', `/v1/nodes/${uuid}/history?detail=true`);
  expect(JSON.stringify(body)).toContain('remove-etcd by hand: n1 leaves kubernetes');
  // of a node that Baton does not have there is the log
  await recordByHand(
    api.context,
    { user: 'ada', project: undefined },
    { node: 'n9', verb: 'drain' },
  )([member('kubernetes', 'done')]);
});

test('a drain of many pods leaves the history of the node as it was, each pod with what came of it', async () => {
  const { uuid } = await api.call('POST', '/v1/nodes', { name: 'n2', driver: 'fake-hardware' });
  const journal = recordByHand(api.context, { user: 'ada', project: undefined }, { node: 'n2', verb: 'drain' });
  const pod = (number: number, result: JournalEntry['result']): JournalEntry => ({
    change: { kind: 'pod', name: `p${number}`, message: `Pod p${number} is evicted` },
    result,
  });
  const byHand = async () =>
    (await listHistory(api.context.db, uuid)).flatMap(({ event }) => (event.includes('by hand') ? [event] : []));
  await journal([pod(0, 'begun')]);
  expect(await byHand()).toEqual(['drain by hand: Pod p0 is evicted: started']);
  // a budget lets one go at a time
  for (let number = 0; number < 120; number += 1) {
    await journal([pod(number, 'begun')]);
    await journal([pod(number, 'done')]);
  }
  const events = await byHand();
  expect(events.map((event) => event.split('; ').length)).toEqual([20, 50, 50]);
  expect(events.join()).not.toContain('started');
  expect(events.at(-1)).toMatch(/^drain by hand: Pod p0 is evicted; Pod p1 is evicted; /);
});
