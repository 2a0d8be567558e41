import { expect, test } from 'vitest';
import { personPattern } from '#shared/person-pattern.ts';

const endless = `${'a'.repeat(60)}!`;

test('a pattern that never ends is given up', () => {
  const pattern = personPattern('(a+)+$', 'u', 50);
  expect(pattern.test('aaa')).toBe(true);
  expect(() => pattern.test(endless)).toThrow('the regular expression "(a+)+$" takes longer than 0.05 s');
  expect(pattern.look((matcher) => 'baab'.match(matcher))).toBeNull();
});

test('what is no pattern is none', () => {
  expect(() => personPattern('(', 'u')).toThrow(SyntaxError);
});

test.each(['(?!R6)R', '(a)\\1', '(?<name>R)', '(?<=R)6'])('Python’s %s is understood', (source) => {
  expect(personPattern(source, 'u').test('R740aaR6')).toBe(true);
});
