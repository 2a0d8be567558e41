import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { createNodeTerminal, type NodeTerminal } from '#conductor/cli/testing/node-terminal.ts';

let terminal: NodeTerminal;
beforeEach(() => {
  terminal = createNodeTerminal();
});

test('steps come from files, JSON or YAML', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-cli-'));
  try {
    const yaml = join(directory, 'steps.yaml');
    await writeFile(yaml, '- {interface: deploy, step: erase_devices_metadata, args: {}}\n');
    const steps = [{ interface: 'deploy', step: 'erase_devices_metadata', args: {} }];
    await terminal.run('clean', 'n1', '--steps', yaml);
    await terminal.run('service', 'n1', '--steps', yaml, '--disable-ramdisk');
    const json = join(directory, 'steps.json');
    await writeFile(json, JSON.stringify({ deploy_steps: steps }));
    await terminal.run('deploy', 'n1', '--deploy-steps', json, '--plan-hash', 'ab');
    await terminal.run('template', 'create', 'CUSTOM_X', '--steps', yaml);
    await terminal.run('template', 'delete', 'CUSTOM_X');
    await writeFile(json, '{"logical_disks": []}');
    await terminal.run('node', 'raid', 'set', 'n1', '--config', json);
    await terminal.run('node', 'raid', 'clear', 'n1');
    expect(terminal.calls).toEqual([
      ['PUT', '/v1/nodes/n1/states/provision', { target: 'clean', clean_steps: steps }],
      ['PUT', '/v1/nodes/n1/states/provision', { target: 'service', service_steps: steps, disable_ramdisk: true }],
      ['PUT', '/v1/nodes/n1/states/provision', { target: 'active', deploy_steps: steps, plan_hash: 'ab' }],
      ['POST', '/v1/deploy_templates', { name: 'CUSTOM_X', steps }],
      ['DELETE', '/v1/deploy_templates/CUSTOM_X', undefined],
      ['PUT', '/v1/nodes/n1/states/raid', { logical_disks: [] }],
      ['PUT', '/v1/nodes/n1/states/raid', {}],
    ]);
    await expect(terminal.run('clean', 'n1', '--steps', json)).rejects.toThrow('it must be a list of steps');
    await writeFile(json, '{[');
    await expect(terminal.run('clean', 'n1', '--steps', json)).rejects.toThrow('it must be JSON or YAML');
    await expect(terminal.run('clean', 'n1')).rejects.toThrow('--steps FILE must be given');
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('rescue reads its password from a file, the console gets the node', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-cli-'));
  try {
    await writeFile(join(directory, 'password'), 'pa ss\n');
    await terminal.run('rescue', 'n1', '--password', join(directory, 'password'));
    await terminal.run('console', 'n 1');
    expect(terminal.calls).toEqual([
      ['PUT', '/v1/nodes/n1/states/provision', { target: 'rescue', rescue_password: 'pa ss' }],
      ['console', 'n%201'],
    ]);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('logs go to a file, or into a pipe', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-cli-'));
  try {
    await terminal.run('logs', 'n1');
    expect(terminal.output).toBe('tar');
    terminal.output = '';
    await terminal.run('logs', 'n1', '--flow', 'f', '-o', join(directory, 'l.tar.gz'));
    expect(terminal.output).toContain('l.tar.gz: 3 B');
    expect(await readFile(join(directory, 'l.tar.gz'), 'utf8')).toBe('tar');
    expect(terminal.calls.at(-1)).toEqual(['GET', '/v1/nodes/n1/flow/logs?flow=f']);
    await expect(terminal.run('logs', 'n1', '-o', '/nowhere/x')).rejects.toThrow('write /nowhere/x');
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('undeploy and provide wipe when asked to, and spare disks only then', async () => {
  await terminal.run('undeploy', 'n1', '--wipe');
  await terminal.run('provide', 'n1', '--wipe', '--preserve-local-storage');
  const path = '/v1/nodes/n1/states/provision';
  expect(terminal.calls).toEqual([
    ['PUT', path, { target: 'deleted', wipe: { preserve_local_storage: false } }],
    ['PUT', path, { target: 'provide', wipe: { preserve_local_storage: true } }],
  ]);
  await expect(terminal.run('undeploy', 'n1', '--preserve-local-storage')).rejects.toThrow('goes with --wipe');

  terminal.calls = [];
  await terminal.run('plan', 'n1', '--target', 'provide', '--wipe', '--preserve-local-storage');
  expect(terminal.calls).toEqual([
    ['POST', '/v1/nodes/n1/plan', { target: 'provide', wipe: { preserve_local_storage: true } }],
  ]);
});
