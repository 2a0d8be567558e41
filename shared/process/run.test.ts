import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { run, runOnTerminal } from '#shared/process/run.ts';

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

test('with a group of its own nothing that it has started is left, nor holds up its end', async () => {
  const { stdout } = await run('sh', ['-c', 'sleep 600 & echo $!'], { ownGroup: true, timeoutMs: 5000 });
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

test('what has ended in time is a success, though a daemon holds its output open a little longer', async () => {
  const script = 'setsid sleep 0.8 & echo done';
  const started = performance.now();
  const { stdout } = await run('sh', ['-c', script], { timeoutMs: 400 });
  expect(stdout).toBe('done\n');
  expect(performance.now() - started).toBeGreaterThan(400);
  const stopping = new AbortController();
  const running = run('sh', ['-c', script], {
    ownGroup: true,
    timeoutMs: 60_000,
    signal: stopping.signal,
    onStdoutLine: () => setTimeout(() => stopping.abort(), 300),
  });
  expect(await running).toMatchObject({ exitCode: 0 });
});

/** Gone, or a zombie that nobody has buried yet. */
async function isDead(pid: string | undefined): Promise<void> {
  const stat = () => readFile(`/proc/${Number(pid)}/stat`, 'utf8').catch(() => ') Z');
  await expect.poll(stat).toMatch(/\) [ZX]/);
}

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
