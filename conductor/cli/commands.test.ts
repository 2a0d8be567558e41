import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { configDriveFiles } from '#conductor/boot/config-drive.ts';
import type { ApiClient } from '#conductor/cli/api-client.ts';
import { usageLine } from '#conductor/cli/command.ts';
import { commands, runCommand, usage } from '#conductor/cli/commands.ts';
import { exitCodeOf } from '#conductor/cli/exit-codes.ts';
import { flowView, stepView } from '#conductor/cli/testing/flow-views.ts';
import { watchFlow } from '#conductor/cli/watch-flow.ts';
import { AppError } from '#shared/errors/app-error.ts';

let calls: unknown[][];
let output: string;
let flow: Record<string, unknown> | undefined;
let onSleep: () => void;
let nodeStates: ({ provision_state: string; target_provision_state: string | null } & Record<string, unknown>)[];
const planView = { kind: 'deploy', hash: 'abc', steps: [], destroys: [], warnings: [], reboots: 0, boot_mode: 'uefi' };

const client: ApiClient = {
  call: (method, path, body) => {
    if (method !== 'GET') calls.push([method, path, body]);
    if (path.startsWith('/v1/nodes?'))
      return Promise.resolve({ nodes: [{ uuid: 'u', name: 'n1', maintenance: false }] });
    if (path.endsWith('/flow')) return Promise.resolve(flow);
    if (path.endsWith('/plan')) return Promise.resolve({ ...planView, predicted_seconds: null });
    const state = nodeStates.length > 1 ? nodeStates.shift() : nodeStates[0];
    return Promise.resolve(path.endsWith('/nope') ? undefined : { uuid: 'u', name: 'n1', ...state });
  },
  download: (path) => {
    calls.push(['GET', path]);
    return Promise.resolve({ content: Buffer.from('tar'), fileName: 'n1.tar.gz' });
  },
};
const run = (...args: string[]) =>
  runCommand(
    {
      connect: () => ({ client, openConsole: (ident) => Promise.resolve(void calls.push(['console', ident])) }),
      screen: { write: (text) => (output += String(text)), isTerminal: false, size: () => ({ columns: 80, rows: 24 }) },
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

const instance = { image_source: 'http://images/old.raw', image_checksum: 'http://images/SUMS', root_gb: 10 };
const sha256 = { image_os_hash_algo: 'sha256', image_os_hash_value: 'ab'.repeat(32) };

test('deploy sets the image by its kind of checksum, then asks for active', async () => {
  nodeStates = [{ provision_state: 'available', target_provision_state: null }];
  await run('deploy', 'n1', '--image', 'http://images/x.raw', '--checksum', 'ab'.repeat(32));
  expect(calls).toEqual([
    [
      'PATCH',
      '/v1/nodes/u',
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

test("an image without a checksum does not keep the other image's; the same image keeps its own", async () => {
  nodeStates = [{ provision_state: 'available', target_provision_state: null, instance_info: instance }];
  await run('deploy', 'n1', '--image', 'http://images/new.raw');
  await run('deploy', 'n1', '--image', 'http://images/old.raw');
  expect(calls.filter(([method]) => method === 'PATCH').map(([, , patch]) => patch)).toEqual([
    [
      { op: 'add', path: '/instance_info/image_source', value: 'http://images/new.raw' },
      { op: 'remove', path: '/instance_info/image_checksum' },
    ],
    [{ op: 'add', path: '/instance_info/image_source', value: 'http://images/old.raw' }],
  ]);
});

test('plan touches nothing, and says when the verb would be refused', async () => {
  nodeStates = [{ provision_state: 'active', target_provision_state: null, instance_info: instance }];
  const image = ['--image', 'http://images/new.raw', '--checksum', 'ab'.repeat(32)];
  const ofImage = { image_source: 'http://images/new.raw', ...sha256, image_checksum: null };
  await expect(run('plan', 'n1', ...image)).rejects.toThrow(
    /^node n1 is active: deploy would be refused; --target rebuild plans a rebuild$/,
  );
  expect(output).toContain('hash abc');
  await run('plan', 'n1', '--target', 'rebuild', ...image);
  expect(calls).toEqual([
    ['POST', '/v1/nodes/n1/plan', { target: 'active', instance_info: ofImage }],
    ['POST', '/v1/nodes/n1/plan', { target: 'rebuild', instance_info: ofImage }],
  ]);
  nodeStates = [{ provision_state: 'manageable', target_provision_state: null }];
  await expect(run('plan', 'n1')).rejects.toThrow('deploy would be refused; possible now: provide, inspect');
  nodeStates = [{ provision_state: 'available', target_provision_state: null, maintenance: true }];
  await expect(run('plan', 'n1')).rejects.toThrow('node n1 is in maintenance: deploy would be refused');
});

test('deploy leaves an instance that stays as it is', async () => {
  await expect(run('deploy', 'n1', '--image', 'http://images/new.raw')).rejects.toThrow(
    'node n1 is active: deploy would be refused; baton rebuild writes its image again',
  );
  expect(calls).toEqual([]);
});

test.each([
  ['plan', 'n1', '--image', 'http://x', '--checksum', 'abc'],
  ['node', 'create', '-f', '/nonexist'],
  ['node', 'create', 'driver=fake-hardware', 'name=@/nonexist'],
  ['deploy', 'n1', '--config-drive', '/nonexist'],
  ['deploy', 'n1', '--image', 'http://x', '--timeout', 'x'],
  ['clean', 'n1'],
  ['rescue', 'n1'],
  ['node', 'raid', 'set', 'n1'],
  ['template', 'create', 'CUSTOM_X'],
])('what nothing can be sent for is bad usage: %s %s %s %s', async (...words) => {
  const error: unknown = await run(...words).catch((thrown: unknown) => thrown);
  expect(exitCodeOf(error)).toBe(2);
  expect(calls).toEqual([]);
});

test('deploy takes a config drive as JSON or as it is, and waits', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-cli-'));
  try {
    await writeFile(join(directory, 'drive.json'), '{"meta_data": {"hostname": "h"}}');
    nodeStates.unshift({ provision_state: 'deploying', target_provision_state: 'active' });
    await run('deploy', 'n1', '--config-drive', join(directory, 'drive.json'), '--wait');
    expect(calls[0]?.[2]).toEqual({ target: 'active', configdrive: { meta_data: { hostname: 'h' } } });
    expect(output).toBe('node n1 is active\n');
    await writeFile(join(directory, 'bad.json'), '{"meta_data": ');
    const fault: unknown = await run('deploy', 'n1', '--config-drive', join(directory, 'bad.json')).catch((e) => e);
    expect(exitCodeOf(fault)).toBe(2);
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
  await expect(run('node', 'watch', 'nope')).rejects.toThrow('Node nope could not be found.');
});

test('a failure is told with what to do next, also where the node is in no failed state', async () => {
  nodeStates = [{ provision_state: 'enroll', target_provision_state: null, last_error: 'no BMC' }];
  const ended = { state: 'failed', ended_at: '2026-01-01T00:00:02Z' };
  const failed = { ...flowView([], { started_at: '2026-01-01T00:00:00Z', kind: 'verify' }), ...ended };
  flow = { ...failed, advice: '`baton manage n1` checks again.' };
  await expect(run('manage', 'n1', '--wait')).rejects.toThrow(
    "node n1 is in 'enroll': no BMC\n→ `baton manage n1` checks again.",
  );
  // somebody has seen to it since
  flow = failed;
  await run('watch', 'n1');
  expect(output).toContain('node n1 is enroll\n');
});

test('watching rides out a conductor that is restarted, and gives up on time', async () => {
  let failures = 3;
  const away: ApiClient = {
    ...client,
    call: (...args) => {
      failures -= 1;
      return failures >= 0 ? Promise.reject(new AppError('unavailable', 'reach it')) : client.call(...args);
    },
  };
  let now = 0;
  const clock = { now: () => new Date(now), sleep: (ms: number) => Promise.resolve(void (now += ms)) };
  const screen = { write: () => undefined, isTerminal: false, size: () => ({ columns: 80, rows: 24 }) };
  const watched = await watchFlow(away, 'n1', { screen, clock });
  expect(watched.node).toMatchObject({ provision_state: 'active' });
  failures = Number.POSITIVE_INFINITY;
  await expect(watchFlow(away, 'n1', { screen, clock })).rejects.toThrow('reach it');
  expect(now).toBeGreaterThan(60_000);
  failures = 0;
  nodeStates = [{ provision_state: 'deploying', target_provision_state: 'active' }];
  await expect(watchFlow(client, 'n1', { screen, clock, timeoutMs: 5000 })).rejects.toThrow('it goes on');
});

test('a terminal is painted over, within its size', async () => {
  flow = flowView(
    Array.from({ length: 40 }, (_, index) =>
      stepView({ step: `step_${index}`, state: index < 20 ? 'succeeded' : 'pending' }),
    ),
    { started_at: new Date().toISOString(), ended_at: null },
  ) as unknown as Record<string, unknown>;
  nodeStates = [
    { provision_state: 'deploying', target_provision_state: 'active' },
    { provision_state: 'active', target_provision_state: null },
  ];
  onSleep = () => (flow = { ...flow, ended_at: new Date().toISOString() });
  const writes: string[] = [];
  const screen = {
    write: (text: string | Uint8Array) => void writes.push(String(text)),
    isTerminal: true,
    size: () => ({ columns: 30, rows: 10 }),
  };
  const clock = { now: () => new Date(), sleep: () => Promise.resolve(onSleep()) };
  await watchFlow(client, 'n1', { screen, clock });
  expect(writes).toHaveLength(2);
  expect(writes[0]?.split('\n')).toHaveLength(10);
  expect(writes[1]).toContain('\u001b[9A\u001b[J');
});

test('lists and shows, as text and as JSON', async () => {
  await run('node', 'list');
  expect(output).toMatch(/^uuid +name .*\nu +n1 .*false\n$/);
  output = '';
  await run('node', 'list', '-o', 'json');
  expect(JSON.parse(output)).toEqual([
    {
      uuid: 'u',
      name: 'n1',
      maintenance: false,
      power_state: null,
      provision_state: null,
      target_provision_state: null,
    },
  ]);
  output = '';
  await run('node', 'show', 'n1');
  expect(output).toMatch(/^name +n1$/m);
  output = '';
  await run('node', 'show', '-o', 'json', 'n1');
  expect(JSON.parse(output)).toMatchObject({ name: 'n1' });
  await expect(run('node', 'show', 'nope')).rejects.toThrow('Node nope could not be found.');
});

test('-o json prints one document, also for what waits and for what fails', async () => {
  await run('deploy', 'n1', '--wait', '-o', 'json');
  expect(JSON.parse(output)).toMatchObject({ node: { name: 'n1', provision_state: 'active' }, flow: null });
  output = '';
  await run('inspect', 'n1', '-o', 'json');
  expect(JSON.parse(output)).toEqual({ node: 'n1', target: 'inspect' });
  output = '';
  nodeStates = [{ provision_state: 'deploy failed', target_provision_state: null, last_error: 'no disk' }];
  await expect(run('watch', 'n1', '-o', 'json')).rejects.toThrow('no disk');
  expect(JSON.parse(output)).toMatchObject({ node: { last_error: 'no disk' } });
  output = '';
  await run('abort', 'n1', '--wait');
  expect(output).toBe('node n1 is deploy failed\n');
});

test('steps come from files, JSON or YAML', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-cli-'));
  try {
    const yaml = join(directory, 'steps.yaml');
    await writeFile(yaml, '- {interface: deploy, step: erase_devices_metadata, args: {}}\n');
    const steps = [{ interface: 'deploy', step: 'erase_devices_metadata', args: {} }];
    await run('clean', 'n1', '--steps', yaml);
    const json = join(directory, 'steps.json');
    await writeFile(json, JSON.stringify({ deploy_steps: steps }));
    await run('deploy', 'n1', '--deploy-steps', json, '--plan-hash', 'ab');
    await run('template', 'create', 'CUSTOM_X', '--steps', yaml);
    await run('template', 'delete', 'CUSTOM_X');
    await writeFile(json, '{"logical_disks": []}');
    await run('node', 'raid', 'set', 'n1', '--config', json);
    await run('node', 'raid', 'clear', 'n1');
    expect(calls).toEqual([
      ['PUT', '/v1/nodes/n1/states/provision', { target: 'clean', clean_steps: steps }],
      ['PUT', '/v1/nodes/n1/states/provision', { target: 'active', deploy_steps: steps, plan_hash: 'ab' }],
      ['POST', '/v1/deploy_templates', { name: 'CUSTOM_X', steps }],
      ['DELETE', '/v1/deploy_templates/CUSTOM_X', undefined],
      ['PUT', '/v1/nodes/n1/states/raid', { logical_disks: [] }],
      ['PUT', '/v1/nodes/n1/states/raid', {}],
    ]);
    await expect(run('clean', 'n1', '--steps', json)).rejects.toThrow('it must be a list of steps');
    await writeFile(json, '{[');
    await expect(run('clean', 'n1', '--steps', json)).rejects.toThrow('it must be JSON or YAML');
    await expect(run('clean', 'n1')).rejects.toThrow('--steps FILE must be given');
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('rescue reads its password from a file, the console gets the node', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-cli-'));
  try {
    await writeFile(join(directory, 'password'), 'pa ss\n');
    await run('rescue', 'n1', '--password', join(directory, 'password'));
    await run('console', 'n 1');
    expect(calls).toEqual([
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
    await run('logs', 'n1');
    expect(output).toBe('tar');
    output = '';
    await run('logs', 'n1', '--flow', 'f', '-o', join(directory, 'l.tar.gz'));
    expect(output).toContain('l.tar.gz: 3 B');
    expect(await readFile(join(directory, 'l.tar.gz'), 'utf8')).toBe('tar');
    expect(calls.at(-1)).toEqual(['GET', '/v1/nodes/n1/flow/logs?flow=f']);
    await expect(run('logs', 'n1', '-o', '/nowhere/x')).rejects.toThrow('write /nowhere/x');
  } finally {
    await rm(directory, { recursive: true });
  }
});

test("README.md's config drive is one that the conductor takes", async () => {
  const readme = await readFile(new URL('README.md', import.meta.url), 'utf8');
  const [, drive = ''] = /```json\n([\s\S]*?)```/.exec(readme) ?? [];
  const files = configDriveFiles(JSON.parse(drive), { uuid: 'u' });
  expect(Object.keys(files)).toEqual(['meta_data.json', 'network_data.json', 'user_data']);
});

test('every command explains itself, and groups list their commands', async () => {
  for (const command of commands) {
    output = '';
    await run(...command.words.split(' '), '--help');
    expect(output).toContain(usageLine(command));
    expect(usage()).toContain(command.meaning);
  }
  output = '';
  await run('deploy', '--help');
  expect(output).toContain('"user_data": "#cloud-config\\npackages');
  output = '';
  await run('template', '--help');
  expect(output).toContain('baton template create NAME');
  expect(output).not.toContain('node list');
  output = '';
  await run('--help');
  expect(output).toBe(usage());
});

test('bad usage is answered with what would be right', async () => {
  await expect(run('frobnicate')).rejects.toThrow(/^no such command: frobnicate; baton --help lists all$/);
  await expect(run('delpoy', 'a')).rejects.toThrow(
    /^no such command: delpoy; did you mean baton deploy\? baton --help lists all$/,
  );
  await expect(run('node', 'frob', 'secret')).rejects.toThrow(
    /^no such command: node frob; baton node --help lists those of node$/,
  );
  await expect(run()).rejects.toThrow(/^usage:/);
  await expect(run('node')).rejects.toThrow('baton node show NODE');
  await expect(run('node', 'show')).rejects.toThrow('it takes NODE; usage: baton node show NODE');
  await expect(run('deploy', 'n1', '--bogus')).rejects.toThrow('usage: baton deploy NODE [--image URL]');
  await expect(run('deploy', 'n1', '--wait', '--timeout', 'soon')).rejects.toThrow('number of seconds above 0');
  await expect(run('node', 'list', '-o', 'xml')).rejects.toThrow('it must be json, yaml or text');
  expect(calls).toEqual([]);
});

test('undeploy and provide wipe when asked to, and spare disks only then', async () => {
  await run('undeploy', 'n1', '--wipe');
  await run('provide', 'n1', '--wipe', '--preserve-local-storage');
  const path = '/v1/nodes/n1/states/provision';
  expect(calls).toEqual([
    ['PUT', path, { target: 'deleted', wipe: { preserve_local_storage: false } }],
    ['PUT', path, { target: 'provide', wipe: { preserve_local_storage: true } }],
  ]);
  await expect(run('undeploy', 'n1', '--preserve-local-storage')).rejects.toThrow('goes with --wipe');

  calls = [];
  await run('plan', 'n1', '--target', 'provide', '--wipe', '--preserve-local-storage');
  expect(calls).toEqual([['POST', '/v1/nodes/n1/plan', { target: 'provide', wipe: { preserve_local_storage: true } }]]);
});
