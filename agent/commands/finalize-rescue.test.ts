import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verify } from 'unixcrypt';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CommandRunner } from '#agent/commands/command-runner.ts';
import { finalizeRescue } from '#agent/commands/finalize-rescue.ts';
import { fakeServices, ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

let etc: string;
beforeEach(async () => {
  etc = await mkdtemp(join(tmpdir(), 'baton-etc-'));
  await writeFile(join(etc, 'passwd'), 'root:x:0:0:root:/root:/bin/sh\n');
});
afterEach(() => rm(etc, { recursive: true }));

const hash = '$6$c2FsdHNhbHQ$9lvGbVJ1S0Cd5nEqGkiSDxO4yfDGo9PE5hEOtUOxgnJKn3P6c0mK1yHnLcX3WmJv1nG3B8sWfOyR1t2F0m6fW/';

function rescue(params: Record<string, unknown>, run: Run = () => Promise.resolve(ranWell())) {
  const events: string[] = [];
  const services = fakeServices({
    run: (command, ...rest) => {
      events.push(command);
      return run(command, ...rest);
    },
    standAside: () => events.push('aside'),
  });
  const commands = new CommandRunner({ rescue: { finalize_rescue: finalizeRescue(etc) } }, services, () => undefined);
  return { events, answer: commands.start('rescue.finalize_rescue', params) };
}
const shadow = () => readFile(join(etc, 'shadow'), 'utf8');

test('a hashed password is taken as it is; then the SSH server starts, and only then the agent stands aside', async () => {
  const { events, answer } = rescue({ rescue_password: hash, hashed: true });
  expect(await answer).toMatchObject({ command_status: 'SUCCEEDED', command_result: null });
  expect(events).toEqual(['/usr/lib/baton/start-rescue', '/usr/lib/baton/start-rescue', 'aside']);
  expect(await shadow()).toBe(`rescue:${hash}:::::::\n`);
  expect((await stat(join(etc, 'shadow'))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(etc, 'passwd'), 'utf8')).toBe(
    'root:x:0:0:root:/root:/bin/sh\nrescue:x:0:0:rescue:/root:/bin/sh\n',
  );
});

test('a password in the clear is hashed; a second rescue replaces the first', async () => {
  await rescue({ rescue_password: 'first' }).answer;
  await rescue({ rescue_password: 'Grüße: x', hashed: false }).answer;
  const lines = (await shadow()).trim().split('\n');
  expect(lines).toHaveLength(1);
  const [, stored = ''] = lines[0]!.split(':');
  expect([stored.slice(0, 3), verify('Grüße: x', stored)]).toEqual(['$6$', true]);
});

test('an agent outside of the ramdisk makes no account', async () => {
  const noScript: Run = () => Promise.reject(new AppError('command_failed', 'no start-rescue'));
  const { answer } = rescue({ rescue_password: hash, hashed: true }, noScript);
  expect(await answer).toMatchObject({ command_status: 'FAILED' });
  await expect(shadow()).rejects.toThrow('ENOENT');
  expect(await readFile(join(etc, 'passwd'), 'utf8')).not.toContain('rescue');
});

test.each([
  [{ rescue_password: 'clear text', hashed: true }, 'with hashed it must be a hash'],
  [{ rescue_password: '', hashed: true }, 'rescue_password'],
  [{ rescue_password: `${hash}\nroot::0:`, hashed: true }, 'with hashed it must be a hash'],
  [{ rescue_password: 'two\nlines' }, 'or contain a line break'],
  [{}, 'rescue_password'],
])('%j is refused, and nothing is opened', async (params, fault) => {
  const { events, answer } = rescue(params);
  const outcome = await answer.then(({ command_error: error }) => error?.details, String);
  expect(outcome).toContain(fault);
  expect(events).toEqual([]);
  await expect(shadow()).rejects.toThrow('ENOENT');
});

test('without an SSH server the agent goes on serving', async () => {
  const { events, answer } = rescue({ rescue_password: hash, hashed: true }, () =>
    Promise.reject(new AppError('command_failed', 'start-rescue exited with 1')),
  );
  expect(await answer).toMatchObject({ command_status: 'FAILED' });
  expect(events).not.toContain('aside');
});
