import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { type RunOptions, run, runOnTerminal } from '#shared/process/run.ts';
import { isDead, isGone } from '#test/support/is-dead.ts';

test('lines are told as they come, whole characters, and the last without a line break too', async () => {
  const lines: string[] = [];
  const result = await run('sh', ['-c', "printf 'one\\ntw'; printf 'o \\303'; sleep 0.05; printf '\\274\\nlast'"], {
    onStdoutLine: (line) => lines.push(line),
  });
  expect(lines).toEqual(['one', 'two ü', 'last']);
  expect(result.stdout).toBe('');
});

test('of much output on stderr the end is kept', async () => {
  const command = 'seq 1 100000 >&2; exit 3';
  await expect(run('sh', ['-c', command], { onStdoutLine: () => undefined })).rejects.toThrow(
    /exited with 3: .*\n100000$/s,
  );
});

test('what a program says is judged before a secret is hidden in it', async () => {
  const failing = run('sh', ['-c', 'echo Un4ble is unable >&2; exit 1'], {
    secrets: ['Un4ble', 'ab'],
    judge: (words) => ({ words }),
  });
  await expect(failing).rejects.toMatchObject({
    message: expect.stringContaining('exited with 1: ****** is unable') as string,
    details: { words: 'Un4ble is unable', exitCode: 1 },
  });
});

test('no part of a secret is left where what a program says is cut', async () => {
  const said = `barracuda-${'x'.repeat(1996)}`;
  const failing = run('sh', ['-c', 'echo "$SAID" >&2; exit 1'], { env: { SAID: said }, secrets: ['barracuda'] });
  await expect(failing).rejects.toThrow(/exited with 1: \*+-x+$/);
});

test('with a group of its own nothing that it has started is left, nor holds up its end', async () => {
  const { stdout } = await run('sh', ['-c', 'sleep 600 & echo $!'], { ownGroup: true });
  await isDead(stdout);
  const pids: string[] = [];
  await expect(
    run('sh', ['-c', 'sleep 600 & echo $!; wait'], {
      ownGroup: true,
      timeoutMs: 300,
      onStdoutLine: (line) => pids.push(line),
    }),
  ).rejects.toThrow('took longer than 300 ms');
  await isDead(pids[0]);
});

test('what has ended in time is a success, though a daemon holds its output open longer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-run-'));
  const gate = join(folder, 'gate');
  await run('mkfifo', [gate]);
  await using letGo = await open(gate, 'r+');
  const begin = (options: RunOptions) => {
    const pid = Promise.withResolvers<string>();
    const args = ['-c', `setsid sh -c 'read line' < ${gate} & echo $$`];
    return { pid: pid.promise, running: run('sh', args, { ...options, onStdoutLine: pid.resolve }) };
  };
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const { pid, running } = begin({ timeoutMs: 400 });
    await isGone(await pid);
    vi.advanceTimersByTime(401);
    await letGo.write('go\n');
    expect(await running).toMatchObject({ exitCode: 0 });
  } finally {
    vi.useRealTimers();
  }
  const stopping = new AbortController();
  const { pid, running } = begin({ ownGroup: true, signal: stopping.signal });
  await isGone(await pid);
  stopping.abort();
  expect(await running).toMatchObject({ exitCode: 0 });
  await letGo.write('go\n');
  await rm(folder, { recursive: true });
});

test('on the terminal: the exit code is answered, whatever it is', async () => {
  expect(await runOnTerminal('true', [])).toBe(0);
  expect(await runOnTerminal('false', [])).toBe(1);
  await expect(runOnTerminal('no-such-program', [])).rejects.toMatchObject({ code: 'command_failed' });
});

test('a process that a signal ended has 128 and the number of the signal as its exit code', async () => {
  const abort = await run('sh', ['-c', 'kill -ABRT $$'], { okExitCodes: [134] });
  expect(abort.exitCode).toBe(134);
  await expect(run('sh', ['-c', 'kill -TERM $$'])).rejects.toThrow('exited with 143');
});
