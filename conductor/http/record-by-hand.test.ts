import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JournalEntry } from '#conductor/cluster/journal.ts';
import { recordByHand } from '#conductor/http/record-by-hand.ts';
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
