import { expect, test } from 'vitest';
import { adviceOn, inCliWords } from '#conductor/cli/cli-words.ts';

test('what the API advises is told as it is typed', () => {
  expect(inCliWords('Commit it first; or buffermode=append adds to it, and buffermode=replace begins anew')).toBe(
    'Commit it first; or --mode append adds to it, and --mode replace begins anew',
  );
  expect(inCliWords('then give allow-intermediate-commits=true')).toBe('then give --allow-intermediate-commits');
});

test('a refusal says what helps', () => {
  const message = 'update_site not started: deploy_site 01KAMZ3W8T0QJ8Q6Y4E2K9V7RC is under way (running)';
  expect(adviceOn({ reason: 'ActionUnderWay', message })).toEqual([
    '→ baton action watch 01KAMZ3W8T0QJ8Q6Y4E2K9V7RC; baton action stop 01KAMZ3W8T0QJ8Q6Y4E2K9V7RC',
  ]);
  expect(adviceOn({ reason: 'NotFound', message })).toEqual([]);
});
