import { expect, test } from 'vitest';
import { tellAllOutdated, tellOutdated } from '#conductor/model/outdated.ts';
import { nameOutdated } from '#conductor/sites/nodes/outdated.ts';
import { factsOf, inLine } from '#conductor/sites/nodes/testing/node-cases.ts';

const redeploy = 'redeploy_server with target-revision=committed deploys it anew';
const relabel = 'relabel_nodes brings it in line, without a deploy';
const otherDeploy = 'deployed from other documents';
const stays = (name: string, ...differs: readonly string[]) => ({
  name,
  status: 'success',
  reason: tellOutdated(3, differs),
});

test('what differs is what can be compared, and whatever else it was deployed from', () => {
  const facts = factsOf('active', 'deployed by the site', { rest: { ...inLine, differs: ['driver', 'traits'] } });
  expect(nameOutdated({ facts, designHash: () => 'now' })).toEqual(['driver', 'traits']);
  expect(nameOutdated({ facts, designHash: () => 'then' })).toEqual(['driver', 'traits', otherDeploy]);
});

test('a node’s remark names what differs, and the action that changes it', () => {
  const begins = 'it was deployed already, from revision 3; the documents say something else by now: ';
  expect(tellOutdated(3, [otherDeploy])).toBe(`${begins}${otherDeploy} (${redeploy})`);
  expect(tellOutdated(3, ['driver', 'driver_info', 'properties/rack', 'port 52:54:00:00:00:01', 'traits'])).toBe(
    `${begins}properties/rack, traits (${relabel}); driver, driver_info, port 52:54:00:00:00:01 (${redeploy})`,
  );
  expect(tellOutdated(3, ['driver_info', 'resource_class'])).toBe(
    `${begins}driver_info (update_site brings it in line); resource_class (${redeploy})`,
  );
});

test('nodes that are left as they were deployed are counted, and the first named with what differs', () => {
  expect(tellAllOutdated([{ name: 'n0', status: 'success', reason: 'it was deployed already' }])).toEqual([]);
  expect(tellAllOutdated([stays('n1', otherDeploy)])).toEqual([
    `1 node stays as it was deployed although its documents differ: n1 (${otherDeploy}): ${redeploy}`,
  ]);
  const many = Array.from({ length: 154 }, (_, index) => stays(`n${index + 1}`, 'driver'));
  expect(tellAllOutdated(many)[0]).toContain(
    '154 nodes stay as they were deployed although their documents differ: ' +
      'n1 (driver), n2 (driver), n3 (driver), n4 (driver), n5 (driver) and 149 more: redeploy_server',
  );
});

test('each action that brings nodes in line has a line, which names what it changes', () => {
  expect(tellAllOutdated([stays('n1', 'traits', 'resource_class'), stays('n2', 'extra/tags')])).toEqual([
    `2 nodes stay as they were deployed although their documents differ: n1 (traits), n2 (extra/tags): ${relabel}`,
    `1 node stays as it was deployed although its documents differ: n1 (resource_class): ${redeploy}`,
  ]);
});

test('a remark with something behind it is understood too', () => {
  const { reason, ...node } = stays('n1', 'driver');
  expect(tellAllOutdated([{ ...node, reason: `${reason}; it is in 'rescue'` }])).toEqual([
    `1 node stays as it was deployed although its documents differ: n1 (driver): ${redeploy}`,
  ]);
});
