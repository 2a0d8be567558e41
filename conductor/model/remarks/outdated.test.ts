import { expect, test } from 'vitest';
import { describeOutdated } from '#conductor/model/remarks/outdated.ts';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';

const redeploy = 'redeploy_server with target-revision=committed redeploys it';
const relabel = 'relabel_nodes brings it in line, without a deploy';
const otherDeploy = 'deployed from other documents';
const outdated = (...differs: readonly string[]) => newRemark('outdated', { revision: 3, differs });
const stays = (name: string, ...differs: readonly string[]) => ({
  name,
  status: 'success',
  remark: outdated(...differs),
});

test('a node’s remark names what differs, and the action that changes it', () => {
  const begins = 'it was deployed already, from revision 3; the documents say something else by now: ';
  expect(describeRemark(outdated(otherDeploy))).toBe(`${begins}${otherDeploy} (${redeploy})`);
  expect(describeRemark(outdated('driver', 'driver_info', 'properties/rack', 'port 52:54:00:00:00:01', 'traits'))).toBe(
    `${begins}properties/rack, traits (${relabel}); driver, driver_info, port 52:54:00:00:00:01 (${redeploy})`,
  );
  expect(describeRemark(outdated('driver_info', 'resource_class'))).toBe(
    `${begins}driver_info (update_site brings it in line); resource_class (${redeploy})`,
  );
});

test('nodes that are left as they were deployed are counted, and the first named with what differs', () => {
  expect(describeOutdated([{ name: 'n0', status: 'success', remark: newRemark('deployed-already') }])).toEqual([]);
  expect(describeOutdated([stays('n1', otherDeploy)])).toEqual([
    `1 node stays as it was deployed although its documents differ: n1 (${otherDeploy}): ${redeploy}`,
  ]);
  const many = Array.from({ length: 154 }, (_, index) => stays(`n${index + 1}`, 'driver'));
  expect(describeOutdated(many)[0]).toContain(
    '154 nodes stay as they were deployed although their documents differ: ' +
      'n1 (driver), n2 (driver), n3 (driver), n4 (driver), n5 (driver) and 149 more: redeploy_server',
  );
});

test('each action that brings nodes in line has a line, which names what it changes', () => {
  expect(describeOutdated([stays('n1', 'traits', 'resource_class'), stays('n2', 'extra/tags')])).toEqual([
    `2 nodes stay as they were deployed although their documents differ: n1 (traits), n2 (extra/tags): ${relabel}`,
    `1 node stays as it was deployed although its documents differ: n1 (resource_class): ${redeploy}`,
  ]);
});

test('a remark that another one quotes is found; text of an earlier release is not read', () => {
  const { remark, ...node } = stays('n1', 'driver');
  const elsewhere = newRemark('deployed-elsewhere', { deployed: remark, state: 'rescue' });
  expect(describeRemark(elsewhere)).toBe(`${describeRemark(remark)}; it is in 'rescue'`);
  expect(describeOutdated([{ ...node, remark: elsewhere }])).toEqual([
    `1 node stays as it was deployed although its documents differ: n1 (driver): ${redeploy}`,
  ]);
  expect(describeOutdated([{ ...node, remark: textRemark(describeRemark(remark)) }])).toEqual([]);
});
