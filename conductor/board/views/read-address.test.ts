import { expect, test } from 'vitest';
import { parseNode } from '#conductor/board/views/read-address.ts';

test.each([
  ['#node/r01-n01', { name: 'r01-n01', tab: 'now' }],
  ['#node/r01-n01/history', { name: 'r01-n01', tab: 'history' }],
  ['#node/11111111-1111-4111-8111-111111111111/plan', { name: '11111111-1111-4111-8111-111111111111', tab: 'plan' }],
  ['#node/a%2Fb', { name: 'a/b', tab: 'now' }],
  ['#node/50%', { name: '50%', tab: 'now' }],
  ['#node/n1/gone', { name: 'n1', tab: 'now' }],
  ['#node/n1/toString', { name: 'n1', tab: 'now' }],
  ['#node/', undefined],
  ['#node/n1/history/more', undefined],
  ['#racks/r1', undefined],
])('the address %s names the node %j', (hash, expected) => {
  expect(parseNode(hash)).toEqual(expected);
});
