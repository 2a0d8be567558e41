import { expect, test } from 'vitest';
import { restoreRemark, storeRemark } from '#conductor/kernel/db/schema/remark-column.ts';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';

test('a remark comes back as it was stored', () => {
  const remark = newRemark('outdated', { revision: 3, differs: ['driver', 'traits'] });
  expect(restoreRemark(storeRemark(remark))).toEqual(remark);
});

test.each(['it was deployed already', '{"an": "error of somebody"}', '[1]', '12', ''])(
  'text of an earlier release is shown as it is: %s',
  (text) => {
    expect(restoreRemark(text)).toEqual(textRemark(text));
    expect(describeRemark(restoreRemark(text))).toBe(text);
  },
);
