import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import type { ApiClient } from '#conductor/cli/api-client.ts';
import { commands, runCommand, usage } from '#conductor/cli/commands.ts';

let calls: unknown[][];
let output: string;
let flow: Record<string, unknown> | undefined;
let onSleep: () => void;
let nodeStates: { provision_state: string; target_provision_state: string | null; last_error?: string }[];

const client: ApiClient = {
  call: (method, path, body) => {
    if (method !== 'GET') calls.push([method, path, body]);
    if (path.startsWith('/v1/nodes?'))
      return Promise.resolve({ nodes: [{ uuid: 'u', name: 'n1', maintenance: false }] });
    if (path.endsWith('/flow')) return Promise.resolve(flow);
    const state = nodeStates.length > 1 ? nodeStates.shift() : nodeStates[0];
    return Promise.resolve(path.endsWith('/nope') ? undefined : { name: 'n1', ...state });
  },
};
const run = (...args: string[]) =>
  runCommand(
    {
      client,
      screen: { write: (text) => (output += text), isTerminal: false },
      clock: {
        now: () => new Date(),
        sleep: () => {
          onSleep();
          return Promise.resolve();
        },
      },
    },
    args,
  );

beforeEach(() => {
  calls = [];
  output = '';
  flow = undefined;
  onSleep = () => undefined;
  nodeStates = [{ provision_state: 'active', target_provision_state: null }];
});

test('deploy sets the image by its kind of checksum, then asks for active', async () => {
  await run('deploy', 'n1', '--image', 'http://images/x.raw', '--checksum', 'ab'.repeat(32));
  expect(calls).toEqual([
    [
      'PATCH',
      '/v1/nodes/n1',
      [
        { op: 'add', path: '/instance_info/image_source', value: 'http://images/x.raw' },
        { op: 'add', path: '/instance_info/image_os_hash_algo', value: 'sha256' },
        { op: 'add', path: '/instance_info/image_os_hash_value', value: 'ab'.repeat(32) },
      ],
    ],
    ['PUT', '/v1/nodes/n1/states/provision', { target: 'active' }],
  ]);
  await expect(run('deploy', 'n1', '--image', 'http://x', '--checksum', 'zz')).rejects.toThrow('64 hex digits');
});

test('deploy takes a config drive as JSON or as it is, and waits', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-cli-'));
  try {
    await writeFile(join(directory, 'drive.json'), '{"meta_data": {"hostname": "h"}}');
    nodeStates.unshift({ provision_state: 'deploying', target_provision_state: 'active' });
    await run('deploy', 'n1', '--config-drive', join(directory, 'drive.json'), '--wait');
    expect(calls[0]?.[2]).toEqual({ target: 'active', configdrive: { meta_data: { hostname: 'h' } } });
    expect(output).toBe('node n1 is active\n');
    await writeFile(join(directory, 'drive.b64'), 'H4sI\n');
    await run('deploy', 'n1', '--config-drive', join(directory, 'drive.b64'));
    expect(calls[1]?.[2]).toMatchObject({ configdrive: 'H4sI' });
    await expect(run('deploy', 'n1', '--config-drive', '/nowhere')).rejects.toThrow('read /nowhere');
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('watching without a terminal prints what has changed, once', async () => {
  nodeStates = [
    { provision_state: 'verifying', target_provision_state: 'manageable' },
    { provision_state: 'verifying', target_provision_state: 'manageable' },
    { provision_state: 'manageable', target_provision_state: null },
  ];
  flow = {
    uuid: 'f',
    kind: 'verify',
    state: 'running',
    started_at: '2026-01-01T00:00:00Z',
    ended_at: null,
    held: null,
    steps: [],
  };
  onSleep = () => {
    if (nodeStates.length === 1) flow = { ...flow, state: 'succeeded', ended_at: '2026-01-01T00:00:02Z' };
  };
  await run('node', 'watch', 'n1');
  expect(output).toBe('verify started\nverify succeeded after 2.0 s\nnode n1 is manageable\n');
});

test('watching a node that ends in a failed state fails with its last error', async () => {
  nodeStates = [{ provision_state: 'deploy failed', target_provision_state: null, last_error: 'no disk' }];
  await expect(run('node', 'watch', 'n1')).rejects.toThrow("node n1 is in 'deploy failed': no disk");
  await expect(run('node', 'watch', 'nope')).rejects.toThrow('there is no node nope');
});

test('lists and shows', async () => {
  await run('node', 'list');
  expect(output).toMatch(/^uuid +name .*\nu +n1 .*false\n$/);
  output = '';
  await run('node', 'show', 'n1');
  expect(JSON.parse(output)).toMatchObject({ name: 'n1' });
});

test('bad usage is answered with what would be right', async () => {
  await expect(run('frobnicate')).rejects.toThrow(/no such command: frobnicate\nusage:/);
  await expect(run()).rejects.toThrow(/^usage:/);
  await expect(run('node', 'show')).rejects.toThrow('name one node');
  await expect(run('deploy', 'n1', '--bogus')).rejects.toThrow('read the arguments');
  for (const command of commands) expect(usage()).toContain(command.usage);
});
