import { expect, test } from 'vitest';
import { adviceOn, describeForCli } from '#conductor/cli/shell/print.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';

test('what the API advises is told as it is typed', () => {
  const conflict = newRemark('buffer-not-empty', { changed: ['nodes'], dropped: [] });
  expect(describeRemark(conflict)).toBe(
    'The buffer is not empty: it changes nodes. Commit it first; or buffermode=append adds to it; ' +
      'buffermode=replace starts again from the committed revision.',
  );
  expect(describeForCli(conflict)).toBe(
    'The buffer is not empty: it changes nodes. Commit it first; or --mode append adds to it; ' +
      '--mode replace starts again from the committed revision.',
  );
  const between = newRemark('intermediate-commits', { between: [2], revision: 3 });
  expect(describeForCli(between)).toMatch(
    /\(baton site diff --base-version last-site-action --diff-version committed\), then give --allow-intermediate-commits$/,
  );
  expect(describeForCli(newRemark('no-documents-given', {}))).toBe(
    'body: it has no documents; `baton site remove` takes the collection away',
  );
});

test('a refusal says what helps', () => {
  const id = '01KAMZ3W8T0QJ8Q6Y4E2K9V7RC';
  const remark = newRemark('action-under-way', { name: 'update_site', open: 'deploy_site', id, state: 'running' });
  expect(adviceOn({ reason: 'ActionUnderWay', remark })).toEqual([
    '→ baton action watch 01KAMZ3W8T0QJ8Q6Y4E2K9V7RC; baton action stop 01KAMZ3W8T0QJ8Q6Y4E2K9V7RC',
  ]);
  expect(adviceOn({ reason: 'NotFound' })).toEqual([]);
});
