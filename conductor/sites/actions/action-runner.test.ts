import { afterAll, beforeAll, expect, test } from 'vitest';
import { addAction } from '#conductor/flows/site-actions/testing/add-action.ts';
import { siteRevisions } from '#conductor/kernel/db/schema/site.ts';
import { siteActionNodes, siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { addNotes } from '#conductor/sites/actions/action-notes.ts';
import { pruneActions } from '#conductor/sites/actions/action-runner.ts';
import { listTags, tagRevision } from '#conductor/sites/revisions/revision-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test('keeps the newest 50 ended actions, the one under way, and those that the newest tags name', async () => {
  const { db } = api.context;
  const ids = Array.from({ length: 55 }, (_, index) => `action-${String(index).padStart(2, '0')}`);
  for (const id of ids) await addAction(db, { id, flow: { state: 'succeeded', endedAt: new Date() } });
  await addAction(db, { id: 'a-00-open' });
  await db.insert(siteActionNodes).values(ids.map((actionId) => ({ actionId, name: 'n1' })));
  for (const id of ids) await addNotes(db, id, [{ verbosity: 1, text: 'x' }]);
  await db.insert(siteRevisions).values([{ kind: 'upload' }, { kind: 'upload' }]);
  const tag = (revisionId: number, name: 'success' | 'failure', action: string) =>
    tagRevision(db, { revisionId, tag: `site-action-${name}`, data: { action }, user: undefined });
  await tag(1, 'success', 'action-00');
  await tag(1, 'failure', 'action-02');
  await tag(2, 'success', 'action-03');
  const tags = await listTags(db);

  await pruneActions(api.context);
  const left = (await db.select().from(siteActions)).map(({ id }) => id);
  expect(left.toSorted()).toEqual(['a-00-open', 'action-02', 'action-03', ...ids.slice(5)]);
  expect(await db.select().from(siteActionNodes)).toHaveLength(left.length - 1);
  expect(await listTags(db)).toEqual(tags);
});
