import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { run, start } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { freePort } from '#test/support/free-port.ts';
import { batonProgram } from '#test/support/programs.ts';

const slowMs = 180_000;

test(
  'baton demo: a board, machines with faults, a site that deploys; Ctrl-C leaves nothing',
  async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const demo = start(batonProgram, ['demo', '--nodes', '7', `--port=${port}`], { detached: true });
    let said = '';
    demo.stderr.on('data', (chunk: Buffer) => void (said += chunk.toString('utf8')));
    try {
      const ready = () => said.includes('Ctrl-C ends it') || undefined;
      const ended = demo.exited.then((code) => Promise.reject(new Error(`it ended with ${code}: ${said}`)));
      await Promise.race([waitUntil('the demo to be ready', ready, { timeoutMs: slowMs, everyMs: 100 }), ended]);
      ended.catch(() => undefined); // from here on its end is the test's business
      expect(said).toContain(`board: ${url}/`);
      expect(said).toMatch(/r01-n06 has a bad disk\n {2}r01-n07 has a dead BMC/);
      expect(await (await fetch(`${url}/board`)).text()).toContain('<html');

      const names = async (state: string) =>
        (await run(batonProgram, ['node', 'list', '--state', state, '-o', 'name'], { env: { BATON_URL: url } })).stdout
          .trim()
          .split('\n')
          .sort();
      const whole = ['r01-n01', 'r01-n02', 'r01-n03', 'r01-n04'];
      const isThere = async () => {
        const [active, failed] = [await names('active'), await names('deploy failed')];
        return (whole.every((name) => active.includes(name)) && failed.includes('r01-n06')) || undefined;
      };
      await waitUntil('machines to be deployed', isThere, { timeoutMs: slowMs, everyMs: 1000 });
    } finally {
      process.kill(-demo.pid, 'SIGINT');
    }
    expect(await demo.exited).toBe(0);
    const directory = dirname(/log: +(\S+)/.exec(said)?.[1] ?? '');
    await expect(stat(directory)).rejects.toThrow('ENOENT');
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  },
  2 * slowMs,
);

test('what it can’t do is refused before anything starts', async () => {
  const refused = await run(batonProgram, ['demo', '--nodes', '0'], { okExitCodes: [2] });
  expect(refused.stderr).toContain('--nodes: it must be a whole number, 1 or more');
});
