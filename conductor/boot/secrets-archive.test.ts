import { expect, test } from 'vitest';
import { secretsArchive } from '#conductor/boot/ramdisk-files.ts';
import { run } from '#shared/process/run.ts';

test('is an archive that cpio reads, with one file for root alone, in whole blocks', async () => {
  const archive = secretsArchive(['ipa-agent-token=abc', 'b=1']);
  expect(archive.length % 512).toBe(0);
  const options = { input: archive };
  const { stdout: list } = await run('cpio', ['--list', '--verbose', '--numeric-uid-gid', '--quiet'], options);
  expect(list.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^drwxr-xr-x +1 0 +0 .* etc$/),
    expect.stringMatching(/^drwxr-xr-x +1 0 +0 .* etc\/baton$/),
    expect.stringMatching(/^-rw------- +1 0 +0 +24 .* etc\/baton\/boot-secrets$/),
  ]);
  const { stdout: text } = await run(
    'cpio',
    ['--extract', '--to-stdout', '--quiet', 'etc/baton/boot-secrets'],
    options,
  );
  expect(text).toBe('ipa-agent-token=abc b=1\n');
});
