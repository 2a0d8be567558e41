import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '#conductor/cli/commands.ts';
import { createApiClient } from '#conductor/cli/shell/api-client.ts';
import { readClientSettings } from '#conductor/cli/shell/client-settings.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { type RunResult, run } from '#shared/process/run.ts';
import { readGuides, scriptsOf } from '#test/guides/read-guides.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator } from '#test/support/operator.ts';
import { batonProgram } from '#test/support/programs.ts';

/** The real `baton` process, on a conductor with a simulated machine. */

const name = 'by-baton';
let conductor: ConductorInProcess;
let machine: SimulatedNode;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-cli-'));
  conductor = await startConductorInProcess({ log: silentLog });
  machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: '52:54:00:00:04:11',
    cleanSteps: [{ step: 'check' }],
  });
  await enrolSimulatedNode(createOperator(conductor.url), machine, name, { instance_info: {} });
});
afterAll(async () => {
  await machine.close();
  await conductor.close();
  await rm(directory, { recursive: true });
});

const baton = (...args: string[]): Promise<RunResult> =>
  run(batonProgram, args, {
    env: { BATON_URL: conductor.url },
    okExitCodes: [0, 1, 2, 3],
    timeoutMs: 300_000,
    cwd: directory,
  });
/** The same in this process: 0.4 s less each. Answers what it printed. */
async function quick(...args: string[]): Promise<string> {
  let output = '';
  const settings = readClientSettings({ BATON_URL: conductor.url }, { insecure: false });
  await runCommand(
    {
      describeSettings: () => Promise.resolve([]),
      screen: {
        write: (text) => void (output += String(text)),
        isTerminal: false,
        size: () => ({ columns: 80, rows: 24 }),
      },
      clock: systemClock,
      connect: () => ({
        client: createApiClient(settings),
        openConsole: () => Promise.reject(new Error('nobody sits here')),
      }),
    },
    args,
  );
  return output;
}
const json = async (...args: string[]): Promise<Record<string, unknown>> =>
  JSON.parse(await quick(...args, '-o', 'json')) as Record<string, unknown>;
const containing = (text: string) => expect.stringContaining(text) as unknown;

test('a template is made, listed and deleted', async () => {
  const file = join(directory, 'template.yaml');
  await writeFile(file, '- {interface: deploy, step: write_image, args: {}, priority: 85}\n');
  expect(await baton('template', 'create', 'CUSTOM_EARLY', '--steps', file)).toMatchObject({
    exitCode: 0,
    stdout: 'deploy template CUSTOM_EARLY created\n',
  });
  expect((await baton('template', 'list')).stdout).toContain('CUSTOM_EARLY  deploy.write_image');
  expect(await json('template', 'show', 'CUSTOM_EARLY')).toMatchObject({ steps: [{ priority: 85 }] });
  expect(await baton('template', 'create', 'CUSTOM_EARLY', '--steps', file)).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: 'baton: A deploy template with name CUSTOM_EARLY already exists.\n',
  });
  expect((await baton('template', 'delete', 'CUSTOM_EARLY')).exitCode).toBe(0);
});

const image = ['--image', demoInstance.image_source, '--checksum', demoInstance.image_os_hash_value];

test('a plan of steps that nobody has heard of yet can be read, not deployed by its hash', async () => {
  expect((await baton('plan', name, ...image)).stdout).toMatch(/agent's steps are not known/);
  const { hash } = await json('plan', name, ...image);
  expect(await json('node', 'show', name)).toMatchObject({ instance_info: {} });
  expect(await baton('deploy', name, ...image, '--plan-hash', String(hash))).toMatchObject({
    exitCode: 1,
    stderr: containing("this node's ramdisk has not been asked for its steps yet"),
  });
});

test('the steps of a cleaning come from a file; the RAID of a node too', async () => {
  const operator = createOperator(conductor.url);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  const steps = join(directory, 'steps.json');
  await writeFile(steps, JSON.stringify({ clean_steps: [{ interface: 'deploy', step: 'check' }] }));
  const cleaned = await baton('clean', name, '--steps', steps, '--wait', '--timeout', '250');
  expect(cleaned).toMatchObject({ exitCode: 0, stderr: '' });
  expect(cleaned.stdout).toContain('deploy.check');

  const raid = join(directory, 'raid.yaml');
  await writeFile(raid, 'logical_disks: [{size_gb: MAX, raid_level: "1", controller: software}]\n');
  expect((await baton('node', 'raid', 'set', name, '--config', raid)).exitCode).toBe(0);
  expect(await json('node', 'raid', 'show', name)).toMatchObject({
    target_raid_config: { logical_disks: [{ raid_level: '1' }] },
  });
  expect((await baton('node', 'raid', 'clear', name)).exitCode).toBe(0);
  expect((await baton('node', 'show', 'nobody')).stderr).toBe('baton: Node nobody could not be found.\n');
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
});

test('a plan is read, deployed by its hash with a config drive, and taken down again', async () => {
  const { stdout: text, stderr } = await baton('plan', name, ...image);
  expect(stderr).toBe('');
  expect(text).toMatch(/^#\s+prio\s+step/);
  expect(text).toMatch(/deploy\.write_image/);
  const { hash } = await json('plan', name, ...image);
  expect(text).toContain(`hash ${String(hash)}`);

  expect(await baton('deploy', name, ...image, '--plan-hash', 'ab'.repeat(32))).toMatchObject({
    exitCode: 1,
    stderr: containing('the plan is no longer the one that was read'),
  });
  const drive = join(directory, 'drive.json');
  await writeFile(drive, JSON.stringify({ meta_data: { hostname: 'white-rabbit' } }));
  const asRead = ['--plan-hash', String(hash), '--config-drive', drive];
  const deployed = await baton('deploy', name, ...image, ...asRead, '--wait');
  expect(deployed).toMatchObject({ exitCode: 0, stderr: '' });
  expect(deployed.stdout).toMatch(/^deploy started$/m);
  expect(deployed.stdout).toMatch(/^deploy\.write_image \(80\) succeeded/m);
  expect(deployed.stdout).toMatch(new RegExp(`^node ${name} is active$`, 'm'));
  expect(await json('undeploy', name, '--wait')).toMatchObject({ node: { provision_state: 'available' } });
});

test('a failure is told on standard error, and its logs can be read', async () => {
  expect(await baton('logs', name)).toMatchObject({ exitCode: 1, stderr: containing('has no logs') });
  machine.faults.failStep = { step: 'write_image', message: 'the disk is full of eels', once: true };
  const failed = await baton('deploy', name, ...image, '--wait');
  expect(failed).toMatchObject({ exitCode: 1, stderr: containing('the disk is full of eels') });
  expect(failed.stdout).toContain('deploy.write_image (80) failed');
  expect(failed.stderr).toContain(
    `\n→ Look at the image: it can not be written as it is. See what the error says of it, and what its URL answers a browser. Then \`baton rebuild ${name}\` tries again`,
  );

  expect((await baton('logs', name, '-o', 'logs.tar.gz')).stdout).toContain('logs.tar.gz: ');
  const listing = await run('tar', ['-tzf', join(directory, 'logs.tar.gz')]);
  expect(listing.stdout.split('\n').length).toBeGreaterThan(1);
  await baton('undeploy', name, '--wait');
});

/** The words of a line of shell, without the comment behind it. */
function shellWords(line: string): string[] {
  const words = line.replace(/ +# .*/, '').matchAll(/'([^']*)'|\S+/g);
  return [...words].map(([word, quoted]) => quoted ?? word);
}

test("docs/first-rack.md's example runs as it stands, and nodes of a file are made once", async () => {
  const section = scriptsOf(readGuides()).find(({ name }) => name === 'docs/first-rack.md: Without hardware');
  const file = join(directory, 'nodes.yaml');
  await writeFile(file, section?.files.get('nodes.yaml') ?? '');
  const shell = section?.text ?? '';
  const lines = shell.split('\n').filter((line) => line.startsWith('baton '));
  expect(lines.length).toBeGreaterThan(12);
  const printed = new Map<string, string>();
  for (const line of lines) {
    const [, ...words] = shellWords(line);
    printed.set(
      words.slice(0, 2).join(' '),
      await quick(...words.map((word) => (word === 'nodes.yaml' ? file : word))),
    );
    if (line.startsWith('baton node create') && !words.includes('--dry-run')) {
      printed.set('again', await quick('node', 'create', '-f', file));
    }
  }
  expect(printed.get('node create')).toContain('n1: created: port 52:54:00:00:07:01, trait CUSTOM_FAST');
  // each node's line comes when it is done
  const eachOf = (words: string) => printed.get(words)?.trim().split('\n').sort();
  expect(eachOf('again')).toEqual(['n1: unchanged', 'n2: unchanged']);
  expect(printed.get('node list')).toMatch(/ n1 .*\n.* n2 /);
  expect(printed.get('allocate gold')).toBe('allocation web: node n1\n');
  expect(printed.get('deploy n1')).toContain('node n1 is active');
  expect(printed.get('undeploy n1')).toContain('node n1 is available');
  expect(eachOf('power off')).toEqual(['node n1: power off', 'node n2: power off']);
  expect(eachOf('node delete')).toEqual(['node n1 deleted', 'node n2 deleted']);
});

test('fields, ports, traits and allocations are changed, listed and taken back', async () => {
  await quick('node', 'create', 'name=fields', 'driver=fake-hardware', '--port', '52:54:00:00:09:01');
  await quick('node', 'set', 'fields', 'resource_class=odd', 'extra.cpus:=8', 'owner=team');
  await quick('node', 'unset', 'fields', 'extra.cpus');
  await quick('node', 'trait', 'add', 'fields', 'CUSTOM_A', 'CUSTOM_B');
  await quick('node', 'trait', 'remove', 'fields', 'CUSTOM_B');
  expect(await quick('node', 'trait', 'list', 'fields')).toBe('CUSTOM_A\n');
  expect(await quick('node', 'list', '--owner', 'team', '--columns', 'name,extra', '-o', 'yaml')).toBe(
    '- name: fields\n  extra: {}\n',
  );
  expect(await quick('portgroup', 'create', 'bond9', 'mode=802.3ad', '--node', 'fields')).toMatch(/created/);
  const [port] = JSON.parse(await quick('port', 'list', '--node', 'fields', '-o', 'json')) as { uuid: string }[];
  await quick('port', 'delete', port?.uuid ?? '');
  await expect(quick('allocate', 'odd', '--dry-run')).rejects.toThrow(
    'no available nodes match the resource class odd',
  );
  await expect(quick('allocate', 'odd', '--name', 'lost', '--wait')).rejects.toThrow('baton allocation delete lost');
  expect(await quick('allocation', 'list', '--state', 'error')).toContain('lost');
  expect(await quick('allocation', 'delete', 'lost')).toBe('allocation lost deleted\n');
  expect(await quick('conductor', 'list')).toMatch(/in-process +- +alive/);
  expect(await quick('driver', 'list')).toContain('redfish');
  await quick('webhook', 'create', 'chat', 'http://127.0.0.1:9/hook', '--event', 'node.maintenance');
  expect(await quick('webhook', 'list')).toContain('node.maintenance');
  await quick('webhook', 'delete', 'chat');
  await quick('node', 'delete', 'fields');
});

test('bad usage and an absent conductor have exit codes of their own', async () => {
  expect(await baton('node', 'list', '--sort', 'name:up')).toMatchObject({ exitCode: 2, stderr: containing('--sort') });
  const nowhere = await run(batonProgram, ['node', 'list'], {
    env: { BATON_URL: 'http://127.0.0.1:1' },
    okExitCodes: [3],
  });
  expect(nowhere.stderr).toContain('reach the conductor at http://127.0.0.1:1 (BATON_URL)');
});
