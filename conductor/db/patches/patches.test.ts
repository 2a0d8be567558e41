import { expect, test } from 'vitest';
import { run } from '#shared/process/run.ts';

test('the installed packages are patched (`npm ci` does that)', async () => {
  const patch = new URL('postgres.patch', import.meta.url).pathname;
  const root = new URL('../../..', import.meta.url).pathname;
  const { stderr } = await run('git', ['apply', '--reverse', '--check', patch], { cwd: root });
  expect(stderr).toBe('');
});
