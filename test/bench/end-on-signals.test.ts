import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { start } from '#shared/process/run.ts';
import { isDead } from '#test/support/is-dead.ts';

/** A bench with a child, and with a server in a session of its own whose parent has died. */
const bench = `
  import { spawn } from 'node:child_process';
  import { endOnSignals } from '#test/bench/end-on-signals.ts';
  endOnSignals(300);
  const { TMPDIR } = process.env;
  const child = spawn('sleep', ['600']);
  const script = 'setsid sh -c "trap : TERM; while :; do sleep 600 & wait; done" > /dev/null 2>&1 & echo $!';
  const parent = spawn('sh', ['-c', script], { cwd: TMPDIR });
  parent.stdout.on('data', (pid) => console.log(TMPDIR, child.pid, String(pid)));
`;

test('a bench that is ended takes along all that it has started, and its temporary files', async () => {
  const running = start(process.execPath, ['--input-type=module-typescript', '--eval', bench]);
  const [line] = (await once(createInterface({ input: running.stdout }), 'line')) as [string];
  const [folder = '', ...pids] = line.split(' ');
  expect(existsSync(folder)).toBe(true);
  running.kill('SIGTERM');
  expect(await running.exited).toBe(143);
  expect(pids).toHaveLength(2);
  for (const pid of pids) await isDead(pid);
  expect(existsSync(folder)).toBe(false);
});
