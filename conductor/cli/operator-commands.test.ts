import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exitCodeOf } from '#conductor/cli/run-baton.ts';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';
import { AppError } from '#shared/errors/app-error.ts';

const silent = () => createRecordingTerminal(() => ({}));

test('node list filters, sorts, chooses columns and goes through all pages', async () => {
  const terminal = createRecordingTerminal((request) =>
    request.includes('marker=u1000')
      ? { nodes: [{ uuid: 'u1001', name: 'last' }] }
      : { nodes: Array.from({ length: 1000 }, (_, index) => ({ uuid: `u${index + 1}` })), next: 'http://…' },
  );
  const text = await terminal.run(
    'node',
    'list',
    '--state',
    'available',
    '--class',
    'gold',
    '--sort',
    'name:desc',
    '--columns',
    'name,owner',
  );
  expect(terminal.calls.map(([request]) => request)).toEqual([
    'GET /v1/nodes?fields=uuid,name,owner&sort_key=name&sort_dir=desc&provision_state=available&resource_class=gold&limit=1000',
    'GET /v1/nodes?fields=uuid,name,owner&sort_key=name&sort_dir=desc&provision_state=available&resource_class=gold&limit=1000&marker=u1000',
  ]);
  expect(text.split('\n')).toHaveLength(1003);
  await terminal.run('node', 'list', '--limit', '5');
  expect(terminal.calls.at(-1)?.[0]).toContain('limit=5');
  await expect(terminal.run('node', 'list', '--columns', 'colour')).rejects.toThrow('a node has no field colour');
  await expect(terminal.run('node', 'list', '--sort', 'name:up')).rejects.toThrow('it must be FIELD');
  const slip = 'a node has no field provision_stat; did you mean provision_state?';
  await expect(terminal.run('node', 'list', '--sort', 'provision_stat:desc')).rejects.toThrow(`--sort: ${slip}`);
  await expect(terminal.run('node', 'list', '--columns', 'name,provision_stat')).rejects.toThrow(`--columns: ${slip}`);
});

test('documents come as JSON or YAML', async () => {
  const terminal = createRecordingTerminal(() => ({ nodes: [{ uuid: 'u', name: 'n1' }] }));
  expect(await terminal.run('node', 'list', '--columns', 'name', '-o', 'yaml')).toBe('- name: n1\n');
  expect(JSON.parse(await terminal.run('node', 'list', '--columns', 'name', '-o', 'json'))).toEqual([{ name: 'n1' }]);
});

test('a node whose port is refused is there, and its operator is told', async () => {
  const taken = new AppError('conflict', 'A port with MAC address m2 already exists.');
  const terminal = createRecordingTerminal((request, body) => {
    if (request === 'POST /v1/nodes') return { uuid: 'u', name: 'n1' };
    return (body as { address: string }).address === 'm2' ? taken : {};
  });
  const made = terminal.run('node', 'create', 'driver=redfish', '--port', 'm1', '--port', 'm2', '--port', 'm3');
  await expect(made).rejects.toMatchObject({
    code: 'conflict',
    cause: taken,
    message:
      'node n1 was created, in enroll, but not its port m2, m3: `baton port create m2 --node n1 && baton port create m3 ' +
      '--node n1` finishes it, `baton node delete n1` removes it; the reason',
  });
});

test('a node is made from fields, changed, unset and deleted', async () => {
  const terminal = createRecordingTerminal((request) =>
    request === 'POST /v1/nodes' ? { uuid: 'u', name: 'n1' } : {},
  );
  await terminal.run(
    'node',
    'create',
    'name=n1',
    'driver=redfish',
    'driver_info.redfish_username=a',
    '--port',
    '52:54:00:00:00:01',
  );
  await terminal.run('node', 'set', 'n 1', 'extra.rack=7', 'maintenance:=true');
  await terminal.run('node', 'unset', 'n1', 'extra.rack', 'owner');
  await terminal.run('node', 'trait', 'add', 'n1', 'CUSTOM_A', 'CUSTOM_B');
  expect(terminal.calls).toEqual([
    ['POST /v1/nodes', { name: 'n1', driver: 'redfish', driver_info: { redfish_username: 'a' } }],
    ['POST /v1/ports', { node_uuid: 'u', address: '52:54:00:00:00:01' }],
    [
      'PATCH /v1/nodes/n%201',
      [
        { op: 'add', path: '/extra/rack', value: '7' },
        { op: 'add', path: '/maintenance', value: true },
      ],
    ],
    [
      'PATCH /v1/nodes/n1',
      [
        { op: 'remove', path: '/extra/rack' },
        { op: 'remove', path: '/owner' },
      ],
    ],
    ['PUT /v1/nodes/n1/traits/CUSTOM_A'],
    ['PUT /v1/nodes/n1/traits/CUSTOM_B'],
  ]);
  await expect(terminal.run('node', 'create', 'name=n1')).rejects.toThrow('driver=… must be given');
  await expect(terminal.run('node', 'create', 'name=n1', '-f', 'x')).rejects.toThrow('the file says everything');
});

test('nodes of a file: a line each, and a failure at the end when one is not as written', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-nodes-'));
  try {
    const file = join(directory, 'nodes.yaml');
    await writeFile(file, '[{name: n1, driver: fake-hardware}, {name: n2, driver: fake-hardware}]');
    const terminal = createRecordingTerminal((request) => {
      if (request === 'GET /v1/drivers') return { drivers: [{ name: 'fake-hardware' }] };
      if (request === 'GET /v1/nodes/n2') return { uuid: 'u2', name: 'n2', driver: 'ipmi', traits: [] };
      return request === 'GET /v1/nodes/n1' ? undefined : {};
    });
    await expect(terminal.run('node', 'create', '-f', file, '--dry-run')).rejects.toThrow(
      `1 of 2 nodes are not as ${file} has them: 0 failed, 1 are there and differ`,
    );
    expect(terminal.printed()).toBe('n1: would be created\nn2: differs: driver\n');
    expect(terminal.calls.every(([request]) => request.startsWith('GET'))).toBe(true);
    await writeFile(file, '[{name: n1, driver: nope}]');
    await expect(terminal.run('node', 'create', '-f', file)).rejects.toThrow(
      'n1: driver: nope is none of fake-hardware',
    );
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('power and maintenance take several nodes, and go on where one fails', async () => {
  const terminal = createRecordingTerminal((request) =>
    request.includes('/n2/')
      ? new AppError('conflict', 'node n2 is locked')
      : request.startsWith('GET')
        ? { power_state: 'power off', target_power_state: null }
        : {},
  );
  expect(await terminal.run('power', 'off', 'n1', '--soft', '--wait')).toBe('node n1: power off\n');
  expect(terminal.calls[0]).toEqual(['PUT /v1/nodes/n1/states/power', { target: 'soft power off' }]);
  await expect(terminal.run('power', 'on', 'n1', '--wait')).rejects.toThrow("node n1: its power is 'power off'");
  await expect(terminal.run('maintenance', 'on', 'n1', 'n2', 'n3', '--reason', 'new fan')).rejects.toThrow(
    '1 of 3 failed:\n  n2: node n2 is locked',
  );
  expect(terminal.printed()).toBe('node n1: in maintenance\nnode n3: in maintenance\n');
  await expect(terminal.run('maintenance', 'off', 'n2')).rejects.toThrow(/^node n2 is locked$/);
  expect(await terminal.run('maintenance', 'off', 'n1', '-o', 'json')).toContain('"maintenance": false');
  await expect(terminal.run('power', 'on')).rejects.toThrow('it takes NODE...; usage: baton power on NODE...');
});

test('history tells who asked for what, the newest last', async () => {
  const entries = ['one', 'two\nlines', 'three'].map((event, index) => ({
    created_at: `2026-01-0${index + 1}`,
    severity: index === 0 ? 'INFO' : 'ERROR',
    user: index === 0 ? 'ada' : '',
    event,
  }));
  const terminal = createRecordingTerminal((request) => (request.includes('nope') ? undefined : { history: entries }));
  expect(await terminal.run('history', 'n1')).toMatch(
    /^time .*\n2026-01-01 +INFO +ada +one\n2026-01-02 +ERROR +- +two lines\n/,
  );
  expect(JSON.parse(await terminal.run('history', 'n1', '--severity', 'error', '--limit', '1', '-o', 'json'))).toEqual([
    entries[2],
  ]);
  entries.forEach((entry) => Object.assign(entry, { request_id: 'req-1', global_request_id: null }));
  expect(await terminal.run('history', 'n1', '--requests')).toMatch(
    /^time .* request +of\n2026-01-01 .* one +req-1 +-\n/,
  );
  await expect(terminal.run('history', 'nope')).rejects.toThrow('Node nope could not be found.');
});

test('what belongs to nodes is listed, made and deleted', async () => {
  const terminal = createRecordingTerminal((request) =>
    request.startsWith('GET /v1/ports') ? { ports: [{ uuid: 'p', address: 'a', links: [] }] } : { uuid: 'u' },
  );
  await terminal.run('port', 'create', '52:54:00:00:00:01', 'pxe_enabled:=false', '--node', 'n1');
  expect(terminal.calls).toEqual([
    ['GET /v1/nodes/n1?fields=uuid'],
    ['POST /v1/ports', { address: '52:54:00:00:00:01', pxe_enabled: false, node_uuid: 'u' }],
  ]);
  expect(await terminal.run('port', 'list', '--node', 'n1', '-o', 'yaml')).toBe('- uuid: p\n  address: a\n');
  expect(await terminal.run('port', 'delete', 'p', 'q')).toBe('port p deleted\nport q deleted\n');
  await expect(terminal.run('port', 'create', 'x')).rejects.toThrow('--node NODE must be given');
});

test('completion knows commands and options', async () => {
  const script = await silent().run('completion', 'bash');
  expect(script).toContain("'node create|--output --insecure --help --file --dry-run --port|'");
  expect(script).toContain('complete -F _baton baton');
});

test('exit codes tell usage, absence, time and the rest apart', async () => {
  const code = (promise: Promise<unknown>): Promise<number> => promise.then(() => 0, exitCodeOf);
  expect(await code(silent().run('frobnicate'))).toBe(2);
  expect(await code(silent().run('node', 'show'))).toBe(2);
  expect(await code(createRecordingTerminal(() => new AppError('unavailable', 'away')).run('node', 'list'))).toBe(3);
  expect(exitCodeOf(new AppError('timeout', 'it goes on'))).toBe(4);
  expect(await code(createRecordingTerminal(() => new AppError('conflict', 'no')).run('node', 'delete', 'n1'))).toBe(1);
});

test('tokens are shown once, or go into a new file that nobody else reads', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-token-'));
  try {
    const terminal = createRecordingTerminal((request) =>
      request.startsWith('POST') ? { name: 'ci', token: 'baton_x' } : { tokens: [{ name: 'ci', role: 'reader' }] },
    );
    expect(await terminal.run('token', 'create', 'ci', '--role', 'reader', '--expires', '2')).toBe('baton_x\n');
    expect(terminal.calls[0]?.[1]).toMatchObject({
      name: 'ci',
      role: 'reader',
      expires_at: '1970-01-03T00:00:00.000Z',
    });
    const file = join(directory, 'token');
    expect(await terminal.run('token', 'create', 'ci', '--role', 'reader', '--file', file)).not.toContain('baton_x');
    expect(await readFile(file, 'utf8')).toBe('baton_x\n');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await expect(terminal.run('token', 'create', 'ci', '--role', 'reader', '--file', file)).rejects.toThrow(
      `make ${file}`,
    );
    expect(await terminal.run('token', 'list')).toMatch(/^name .*\nci +reader +-/);
    await expect(terminal.run('token', 'create', 'ci')).rejects.toThrow(
      '--role ROLE must be given: admin, member or reader',
    );
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('webhooks are made, tried and looked after', async () => {
  const terminal = createRecordingTerminal((request) =>
    request.endsWith('/test')
      ? { delivered: false, error: 'it answers 500' }
      : { name: 'chat', secret: 's3', webhooks: [{ name: 'chat', events: [] }], deliveries: [{ id: 1 }] },
  );
  const made = await terminal.run('webhook', 'create', 'chat', 'https://chat.example', '--event', 'node.*');
  expect(made).toBe('webhook chat created\nits signatures are made with s3, which is shown this once\n');
  expect(terminal.calls).toEqual([
    ['POST /v1/webhooks', { name: 'chat', url: 'https://chat.example', events: ['node.*'] }],
  ]);
  await expect(terminal.run('webhook', 'test', 'chat')).rejects.toThrow('not delivered: it answers 500');
  expect(await terminal.run('webhook', 'list')).toMatch(/chat +- +all/);
  expect(await terminal.run('webhook', 'deliveries', 'chat', '--state', 'given up')).toMatch(/^id .*\n1 /);
  expect(terminal.calls.at(-1)?.[0]).toBe('GET /v1/webhooks/chat/deliveries?state=given%20up');
});
