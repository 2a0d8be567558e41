import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { commands, nearestCommand, usage } from '#conductor/cli/commands.ts';
import { exitCodeOf } from '#conductor/cli/run-baton.ts';
import { usageLine } from '#conductor/cli/shell/help-text.ts';
import { createNodeTerminal, type NodeTerminal } from '#conductor/cli/testing/node-terminal.ts';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

let terminal: NodeTerminal;
beforeEach(() => {
  terminal = createNodeTerminal();
});

test.each([
  ['plan', 'n1', '--image', 'http://x', '--checksum', 'abc'],
  ['node', 'create', '-f', '/nonexist'],
  ['node', 'create', 'driver=fake-hardware', 'name=@/nonexist'],
  ['deploy', 'n1', '--config-drive', '/nonexist'],
  ['deploy', 'n1', '--image', 'http://x', '--wait', '--timeout', 'x'],
  ['clean', 'n1'],
  ['rescue', 'n1'],
  ['node', 'raid', 'set', 'n1'],
  ['template', 'create', 'CUSTOM_X'],
  ['inspection', 'rule', 'create'],
  ['inspection', 'rule', 'create', '--file', '/nonexist'],
])('what nothing can be sent for is bad usage: %s %s %s %s', async (...words) => {
  const error: unknown = await terminal.run(...words).catch((thrown: unknown) => thrown);
  expect(exitCodeOf(error)).toBe(2);
  expect(terminal.calls).toEqual([]);
});

test('an inspection rule is a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-rule-'));
  const file = join(folder, 'rule.yaml');
  await writeFile(file, 'actions: [{op: log, args: [seen]}]');
  await terminal.run('inspection', 'rule', 'create', '--file', file);
  await terminal.run('inspection', 'rule', 'set', 'u', 'priority:=9');
  await terminal.run('inspection', 'rule', 'delete', 'u');
  expect(terminal.calls).toEqual([
    ['POST', '/v1/inspection_rules', { actions: [{ op: 'log', args: ['seen'] }] }],
    ['PATCH', '/v1/inspection_rules/u', [{ op: 'add', path: '/priority', value: 9 }]],
    ['DELETE', '/v1/inspection_rules/u', undefined],
  ]);
  await writeFile(file, '[]');
  await expect(terminal.run('inspection', 'rule', 'create', '--file', file)).rejects.toThrow('or a list of rules');
  await rm(folder, { recursive: true });
});

test('the example of inspection rules is a list of which each is created, up to one that is refused', async () => {
  const example = ['inspection', 'rule', 'create', '--file', 'docs/examples/inspection-rules.yaml'];
  const api = createRecordingTerminal((_, rule) => ({ uuid: (rule as { description: string }).description }));
  expect(await api.run(...example)).toMatch(
    /^inspection rule Lenovos of rack 1 created\ninspection rule NVIDIA's GPUs.* created\n/,
  );
  const refusing = createRecordingTerminal(() =>
    refusing.calls.length < 2 ? {} : new AppError('invalid_argument', 'actions.0.op'),
  );
  const error: unknown = await refusing.run(...example).catch((thrown: unknown) => thrown);
  expect(errorChain(error)).toMatch(/rule 2 of the list is refused, the 1 before it is created: actions\.0\.op/);
  expect(refusing.calls).toHaveLength(2);
});

test('settings are those in force where a conductor answers', async () => {
  const row = { name: 'BATON_PORT', value: '7000', default: '6385', from: 'environment', meaning: 'port' };
  expect(await createRecordingTerminal(() => ({ settings: [row] })).run('settings')).toMatch(
    /^name +in force +meaning\nBATON_PORT +7000 +port\n$/i,
  );
  const nobody = createRecordingTerminal(() => new AppError('unavailable', 'reach the conductor'));
  expect(await nobody.run('settings')).toMatch(/^name +default +meaning\n/i);
  const stranger = createRecordingTerminal(() => new AppError('forbidden', 'not yours'));
  await expect(stranger.run('settings')).rejects.toThrow('not yours');
});

test('lists and shows, as text and as JSON', async () => {
  await terminal.run('node', 'list');
  expect(terminal.output).toMatch(/^uuid +name .*\nu +n1 .*false\n$/);
  terminal.output = '';
  await terminal.run('node', 'list', '-o', 'json');
  expect(JSON.parse(terminal.output)).toEqual([
    {
      uuid: 'u',
      name: 'n1',
      maintenance: false,
      power_state: null,
      provision_state: null,
      target_provision_state: null,
    },
  ]);
  terminal.output = '';
  await terminal.run('node', 'show', 'n1');
  expect(terminal.output).toMatch(/^ {2}name +n1$/m);
  terminal.output = '';
  await terminal.run('node', 'show', '-o', 'json', 'n1');
  expect(JSON.parse(terminal.output)).toMatchObject({ name: 'n1' });
  await expect(terminal.run('node', 'show', 'nope')).rejects.toThrow('Node nope could not be found.');
});

test('-o json prints one document, also for what waits and for what fails', async () => {
  await terminal.run('deploy', 'n1', '--wait', '-o', 'json');
  expect(JSON.parse(terminal.output)).toMatchObject({ node: { name: 'n1', provision_state: 'active' }, flow: null });
  terminal.output = '';
  await terminal.run('inspect', 'n1', '-o', 'json');
  expect(JSON.parse(terminal.output)).toEqual({ node: 'n1', target: 'inspect' });
  terminal.output = '';
  terminal.nodeStates = [{ provision_state: 'deploy failed', target_provision_state: null, last_error: 'no disk' }];
  await expect(terminal.run('watch', 'n1', '-o', 'json')).rejects.toThrow('no disk');
  expect(JSON.parse(terminal.output)).toMatchObject({ node: { last_error: 'no disk' } });
  terminal.output = '';
  await terminal.run('abort', 'n1', '--wait');
  expect(terminal.output).toBe('node n1 is deploy failed\n');
});

test('every command explains itself, and groups list their commands', async () => {
  for (const command of commands) {
    terminal.output = '';
    await terminal.run(...command.words.split(' '), '--help');
    const flat = terminal.output.replaceAll(/\s+/g, ' ');
    expect(flat).toContain(`usage: ${usageLine(command)}`);
    expect(terminal.output.split('\n').filter((line) => line.length > 80 && !line.startsWith(' '))).toEqual([]);
    expect(usage()).toContain(command.meaning);
  }
  terminal.output = '';
  await terminal.run('deploy', '--help');
  expect(terminal.output).toContain('"user_data": "#cloud-config\\npackages');
  terminal.output = '';
  await terminal.run('template', '--help');
  expect(terminal.output).toContain('baton template create NAME');
  expect(terminal.output).not.toContain('node list');
  terminal.output = '';
  await terminal.run('--help');
  expect(terminal.output).toBe(usage([], 80));
  expect(terminal.output.split('\n').filter((line) => line.length > 80)).toEqual([]);
  expect(usageLine(commands.find(({ words }) => words === 'etcd-health') ?? commands[0]!)).toBe(
    'baton etcd-health --design REVISION',
  );
});

test('--version is that of package.json, without a conductor', async () => {
  const manifest = JSON.parse(await readFile('package.json', 'utf8')) as { readonly version: string };
  await terminal.run('--version');
  expect(terminal.output).toBe(`baton ${manifest.version}\n`);
  expect(terminal.calls).toEqual([]);
});

test('bad usage is answered with what would be right', async () => {
  await expect(terminal.run('frobnicate')).rejects.toThrow(/^no such command: frobnicate; baton --help lists all$/);
  await expect(terminal.run('delpoy', 'a')).rejects.toThrow(
    /^no such command: delpoy; did you mean baton deploy\? baton --help lists all$/,
  );
  await expect(terminal.run('node', 'frob', 'secret')).rejects.toThrow(
    /^no such command: node frob; baton node --help lists those of node$/,
  );
  await expect(terminal.run('--class', 'gold', 'node', 'list')).rejects.toThrow(
    /^--class: options come after the command; baton/,
  );
  await expect(terminal.run()).rejects.toThrow(/^usage:/);
  await expect(terminal.run('node')).rejects.toThrow('baton node show NODE');
  await expect(terminal.run('node', 'show')).rejects.toThrow('it takes NODE; usage: baton node show NODE');
  await expect(terminal.run('deploy', 'n1', '--bogus')).rejects.toThrow(
    /^deploy: there is no option --bogus; baton deploy --help lists all$/,
  );
  await expect(terminal.run('undeploy', 'n1', '--wpie')).rejects.toThrow(
    'no option --wpie; did you mean --wipe? baton undeploy',
  );
  await expect(terminal.run('undeploy', 'n1', '--preserve_local_storage')).rejects.toThrow(
    'mean --preserve-local-storage?',
  );
  await expect(terminal.run('undeploy', 'n1', '--wipe=yes')).rejects.toThrow('undeploy: --wipe: it takes no value');
  await expect(terminal.run('deploy', 'n1', '--image')).rejects.toThrow('deploy: --image: URL must stand behind it');
  await expect(terminal.run('deploy', 'n1', '--image', '--wait')).rejects.toThrow(
    'one that begins with a dash as --image=-…',
  );
  await expect(terminal.run('deploy', 'n1', '--image', 'a', '--image', 'b')).rejects.toThrow(
    '--image: given twice, and not',
  );
  await expect(terminal.run('deploy', 'n1', '--timeout', '5')).rejects.toThrow('deploy: --timeout goes with --wait');
  await expect(terminal.run('deploy', 'n1', '--wait', '--timeout', 'soon')).rejects.toThrow(
    'number of seconds above 0',
  );
  await expect(terminal.run('node', 'list', '-o', 'xml')).rejects.toThrow('it must be json, yaml or text');
  expect(terminal.calls).toEqual([]);
});

const words = ['deploy', 'undeploy', 'plan', 'watch', 'node list', 'node show', 'port list', 'power on', 'power off'];

test.each([
  ['delpoy a', 'deploy'],
  ['deploi', 'deploy'],
  ['unddeploy n1 --wait', 'undeploy'],
  ['node lsit', 'node list'],
  ['nodes show n1', 'node show'],
  ['pla n1', 'plan'],
  ['power of n1', 'power off'],
  ['power o n1', undefined],
  ['power ofn n1', undefined],
  ['power offf', 'power off'],
  ['frobnicate', undefined],
  ['on', undefined],
  ['', undefined],
])('the nearest command to %j is %j', (given, meant) => {
  expect(nearestCommand(given.split(' '), words)).toBe(meant);
});
