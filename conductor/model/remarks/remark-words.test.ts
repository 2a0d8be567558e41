import { expect, test } from 'vitest';
import { progressKey, type Remark } from '#conductor/model/remarks/remark.ts';
import { describeRemark, newRemark, remarkWords } from '#conductor/model/remarks/remark-words.ts';

test('codes are words with hyphens, each with something to say', () => {
  const codes = Object.keys(remarkWords);
  expect(codes.length).toBeGreaterThan(50);
  expect(codes.filter((code) => !/^[a-z]+(-[a-z]+)*$/.test(code))).toEqual([]);
});

test('a code of a newer release is shown with what it says', () => {
  expect(describeRemark({ code: 'made-up', arguments: { disk: 'sda' } })).toBe('made-up {"disk":"sda"}');
  expect(describeRemark({ code: 'constructor', arguments: {} })).toBe('constructor {}');
});

test('figures go on by themselves; a code, a name or a percentage tells of progress', () => {
  const at = (percent: number): Remark => newRemark('flow', { flow: 'wipe', step: 'deploy.wipe_disks', percent });
  expect(progressKey(at(1))).toBe(progressKey(at(2)));
  expect(progressKey(at(1), ['percent'])).not.toBe(progressKey(at(2), ['percent']));
  expect(progressKey(at(1))).not.toBe(progressKey(newRemark('flow', { flow: 'wipe', step: 'deploy.power_off' })));
  expect(progressKey(newRemark('breaking-off', { doing: at(1) }))).toBe(
    progressKey(newRemark('breaking-off', { doing: at(2) })),
  );
});
