import { expect, test } from 'vitest';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import type { NodeOutcome } from '#conductor/model/site/site-run.ts';
import { inWords } from '#conductor/model/testing/in-words.ts';
import { aboutNode, inItsName } from '#conductor/sites/nodes/node-order.ts';

const uuid = '6f0e2f6e-0000-4000-8000-000000000001';
const node = { name: 'n$&1', uuid };

test('a node is called by its name where its UUID stood, and others and URLs are left', () => {
  const other = 'node 6f0e2f6e-0000-4000-8000-000000000002';
  expect(inItsName(`Node ${uuid} is locked, ${other} is not: http://c/${uuid}, node ${uuid}`, node)).toBe(
    `Node n$&1 is locked, ${other} is not: http://c/${uuid}, node n$&1`,
  );
  expect(inItsName(`node ${uuid}`, { name: 'n1' })).toBe(`node ${uuid}`);
});

test('so in what has become of it, also in what a remark quotes; each remark is about the node', () => {
  const about = (outcome: NodeOutcome) => inWords(aboutNode(outcome, node));
  const doing = newRemark('trying-again', { doing: newRemark('wiping'), error: `node ${uuid} is locked` });
  expect(about({ state: 'working', doing })).toEqual({
    state: 'working',
    doing: 'wiping it: another try after: node n$&1 is locked',
  });
  expect(about({ state: 'failed', error: textRemark(`Node ${uuid} owes a wipe`) })).toEqual({
    state: 'failed',
    error: 'Node n$&1 owes a wipe',
  });
  const remark = newRemark('deployed-already');
  expect(aboutNode({ state: 'done', remark }, node)).toEqual({ state: 'done', remark: { ...remark, subject: 'n$&1' } });
});
