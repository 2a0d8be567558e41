import { expect, test } from 'vitest';
import { tellAllOutdated, tellOutdated } from '#conductor/sites/nodes/outdated.ts';

test('nodes that are left as they were deployed are counted, and the first named', () => {
  const stays = (name: string) => ({ name, status: 'success', reason: tellOutdated(3) });
  expect(tellAllOutdated([{ name: 'n0', status: 'success', reason: 'it was deployed already' }])).toEqual([]);
  expect(tellAllOutdated([stays('n1')])).toEqual([
    '1 node stays as it was deployed although its documents differ: n1 (redeploy_server with target-revision=committed deploys it anew)',
  ]);
  const many = Array.from({ length: 154 }, (_, index) => stays(`n${index + 1}`));
  expect(tellAllOutdated(many)[0]).toContain(
    '154 nodes stay as they were deployed although their documents differ: n1, n2, n3, n4, n5 and 149 more',
  );
});
