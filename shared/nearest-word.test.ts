import { expect, test } from 'vitest';
import { didYouMean, nearestWord } from '#shared/words.ts';

test.each([
  ['contorl-nodes', 'control-nodes'],
  ['ntp-nod', 'ntp-node'],
  ['control-nodes', 'control-nodes'],
  ['compute', undefined],
  ['', undefined],
])('%j may be meant as %j', (given, meant) => {
  expect(nearestWord(given, ['ntp-node', 'control-nodes', 'ntp'])).toBe(meant);
});

test('dashes and underscores are one', () => {
  expect(nearestWord('not_in_cluster_ok', ['not-in-cluster-ok'])).toBe('not-in-cluster-ok');
  expect(nearestWord('target-nodse', ['target_nodes'])).toBe('target_nodes');
});

test('of two, the nearer', () => {
  expect(nearestWord('rack-11', ['rack-1x2', 'rack-1'])).toBe('rack-1');
});

test('what refuses a word asks for the one that was meant, if any', () => {
  expect(didYouMean('nmae', ['name', 'uuid'])).toBe('; did you mean name?');
  expect(didYouMean('colour', ['name', 'uuid'])).toBe('');
});
