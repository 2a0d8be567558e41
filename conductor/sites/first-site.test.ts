import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '#conductor/cli/commands.ts';
import { createApiClient } from '#conductor/cli/shell/api-client.ts';
import { readClientSettings } from '#conductor/cli/shell/client-settings.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';

let conductor: ConductorInProcess;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-first-site-'));
  conductor = await startConductorInProcess({ log: silentLog });
});
afterAll(async () => {
  await conductor.close();
  await rm(folder, { recursive: true });
});

async function baton(args: readonly string[]): Promise<string> {
  let output = '';
  const screen = {
    write: (text: string | Uint8Array) => void (output += String(text)),
    isTerminal: false,
    size: () => ({ columns: 80, rows: 24 }),
  };
  const client = createApiClient(readClientSettings({ BATON_URL: conductor.url }, { insecure: false }));
  const connect = () => ({ client, openConsole: () => Promise.reject(new Error('nobody sits here')) });
  await runCommand({ screen, describeSettings: () => Promise.resolve([]), clock: systemClock, connect }, args);
  return output;
}

test('docs/sites.md’s first site runs as it stands', async () => {
  const guide = await readFile(join(import.meta.dirname, '../../docs/sites.md'), 'utf8');
  const [, yaml = ''] = /```yaml\n([\s\S]*?)```/.exec(guide) ?? [];
  const [, shell = ''] = /```sh\n([\s\S]*?)```/.exec(guide) ?? [];
  await writeFile(join(folder, 'rack1.yaml'), yaml);
  const here = (word: string) => (word === 'rack1.yaml' ? join(folder, word) : word);
  const lines = shell.split('\n').filter((line) => line.startsWith('baton '));
  expect(lines.length).toBeGreaterThan(6);
  const printed = new Map<string, string>();
  for (const line of lines) {
    const [, ...words] = line.replace(/ +# .*/, '').split(' ');
    if (line.startsWith('baton site commit')) {
      printed.set('too early', await baton(['site', 'groups']).catch(String));
    }
    printed.set(words.join(' '), await baton(words.map(here)));
  }
  expect(printed.get('too early')).toContain('the buffer has revision 1: --version buffer');
  expect(printed.get('site groups --version buffer')).toContain('workers');
  expect(printed.get('action create deploy_site --dry-run')).toContain('worker11');
  expect(printed.get('action create deploy_site --wait')).toMatch(/success\n$/);
  expect(printed.get('action create verify_site --wait')).toContain('1 node: all as documented');
  const redeploy = 'action create redeploy_server --param target_nodes=worker11';
  const wipe = 'wipe simulated (deploy_interface fake): no disk is touched, no receipt\n';
  expect(printed.get(`${redeploy} --dry-run`)).toContain('no BATON_KUBECONFIG: nothing is drained');
  expect(printed.get(`${redeploy} --dry-run`)).toContain(wipe.replace('wipe ', 'wipe: '));
  expect(printed.get(`${redeploy} --wait`)).toContain(`worker11: all was done\n    ${wipe}`);
  expect(printed.get(`${redeploy} --wait`)).toMatch(/redeploy_server .*: Complete, .*: success\n$/);
});
