import { expect, test } from 'vitest';
import { compareDecimals, parseDecimal, parseStage, postfixOf } from '#conductor/sites/plugins/plugin-task.ts';

test.each([
  ['pre_deployment', { name: 'pre_deployment' }],
  ['post_deployment', { name: 'post_deployment' }],
  ['post_deployment/100', { name: 'post_deployment', postfix: '100' }],
  ['pre_deployment/-99.9', { name: 'pre_deployment', postfix: '-99.9' }],
  ['pre_deployment/+1', { name: 'pre_deployment', postfix: '+1' }],
  ['pre_deployment/.5', { name: 'pre_deployment', postfix: '.5' }],
  ['pre_deployment/0100.0', { name: 'pre_deployment', postfix: '0100.0' }],
])('%s', (text, stage) => {
  expect(parseStage(text)).toEqual(stage);
});

test.each([
  'deploy',
  'Post_deployment',
  'post_deployment_extra/1',
  'post_deployment/',
  'post_deployment/abc',
  'post_deployment/100.',
  'post_deployment/1e3',
  'post_deployment/inf',
  'post_deployment/nan',
  'post_deployment/0x10',
  'post_deployment/--1',
  'post_deployment/-',
  'post_deployment/.',
  'post_deployment/ 50',
  'post_deployment/50 ',
  'post_deployment/50\n',
  ' post_deployment',
  'post_deployment/5/1',
  'post_deployment:: 50',
  'post_deployment/١',
  '',
])('%j is refused, and told with what is allowed', (text) => {
  expect(() => parseStage(text)).toThrow(
    `${JSON.stringify(text)}: it must be pre_deployment or post_deployment, which one slash and a decimal number may follow`,
  );
});

test('a text without end is told shortened', () => {
  expect(() => parseStage(`pre_deployment/${'1'.repeat(10_000)}`)).toThrow(/^.{0,250}$/);
});

const compare = (a: string, b: string): number =>
  Math.sign(compareDecimals(postfixOf(parseStage(`pre_deployment${a}`)), postfixOf(parseStage(`pre_deployment${b}`))));

test.each([
  ['', '/0'],
  ['/-0', '/0'],
  ['/-0.0', ''],
  ['/100', '/100.0'],
  ['/100', '/+100'],
  ['/.5', '/0.50'],
  ['/007', '/7'],
])('%j is %j', (a, b) => {
  expect([compare(a, b), compare(b, a)]).toEqual([0, 0]);
});

test.each([
  ['/-101', '/-100'],
  ['/-100', '/-99.9'],
  ['/-99.9', ''],
  ['', '/0.1'],
  ['/2', '/10'],
  ['/9.9', '/10'],
  ['/1.05', '/1.5'],
  ['/0.1', '/0.10000000000000000001'],
  ['/9007199254740992', '/9007199254740993'],
])('%j is lower than %j', (a, b) => {
  expect([compare(a, b), compare(b, a)]).toEqual([-1, 1]);
});

test('what is not a decimal number is none', () => {
  for (const text of ['', '+', '1.', '1e1', '1_000', 'Infinity', '1,5']) expect(parseDecimal(text)).toBeUndefined();
});
