import { expect, onTestFinished, test } from 'vitest';
import { siteRevisions } from '#conductor/kernel/db/schema/site.ts';
import { findTargetRevision } from '#conductor/sites/actions/find-target-revision.ts';
import { tagRevision } from '#conductor/sites/revisions/revision-store.ts';
import { addCoverage, type Coverage } from '#conductor/sites/revisions/revision-tags.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

test.each<[string, Coverage | undefined, Coverage, Coverage]>([
  ['the first action', undefined, { nodes: ['n1'] }, { nodes: ['n1'] }],
  ['redeploys of several nodes', { nodes: ['n2'] }, { nodes: ['n1', 'n2'] }, { nodes: ['n1', 'n2'] }],
  ['a redeploy after the whole site', {}, { nodes: ['n1'] }, {}],
  ['a redeploy of what the site had left out', { except: ['n1', 'n2'] }, { nodes: ['n1'] }, { except: ['n2'] }],
  ['the whole site after a redeploy', { nodes: ['n1'] }, { except: ['n1', 'n2'] }, { except: ['n2'] }],
  ['the whole site twice', { except: ['n1', 'n2'] }, { except: ['n2', 'n3'] }, { except: ['n2'] }],
])('actions of one revision cover together: %s', (_, before, added, together) => {
  expect(addCoverage(before, added)).toEqual(together);
});

/** A database with a revision for each, that an action has used to its success. */
async function withRevisions(...coverages: readonly Coverage[]) {
  const database = await openTestDatabase();
  onTestFinished(() => database.close());
  const { db } = database;
  for (const coverage of coverages) {
    const [row] = await db.insert(siteRevisions).values({ kind: 'upload' }).returning();
    const tag = { tag: 'site-action-success', data: { action: 'a', ...coverage }, user: undefined };
    await tagRevision(db, { revisionId: row?.id ?? 0, ...tag });
  }
  return (...names: readonly string[]) =>
    findTargetRevision(db, { name: 'redeploy_server', parameters: { target_nodes: [...names] } });
}

test('a node is redeployed from the newest revision that a success has shown to be good for it', async () => {
  const target = await withRevisions({}, { nodes: ['n1', 'n2'] }, { except: ['n2', 'n3'] });
  expect(await target('n1')).toBe(3);
  expect(await target('n2')).toBe(2);
  expect(await target('n3')).toBe(1);
  await expect(target('n3', 'n1', 'n2')).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringMatching(/used different revisions \(1: n3; 3: n1; 2: n2\).*target-revision=committed/),
    details: { reason: 'MissingPrecondition' },
  });
});

test('a node that no success has covered has none', async () => {
  const target = await withRevisions({ nodes: ['n1'] });
  await expect(target('n1', 'n2', 'n3')).rejects.toThrow(
    'redeploy_server not started: there is no revision of successful-site-action for n2, n3: no site action has succeeded for it yet',
  );
});
