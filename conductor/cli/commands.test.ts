import { readFile } from 'node:fs/promises';
import { beforeEach, expect, test } from 'vitest';
import { commands, usage } from '#conductor/cli/commands.ts';
import { exitCodeOf } from '#conductor/cli/exit-codes.ts';
import { usageLine } from '#conductor/cli/help-text.ts';
import { createNodeSeat, type NodeSeat } from '#conductor/cli/testing/node-seat.ts';

let seat: NodeSeat;
beforeEach(() => {
  seat = createNodeSeat();
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
])('what nothing can be sent for is bad usage: %s %s %s %s', async (...words) => {
  const error: unknown = await seat.run(...words).catch((thrown: unknown) => thrown);
  expect(exitCodeOf(error)).toBe(2);
  expect(seat.calls).toEqual([]);
});

test('lists and shows, as text and as JSON', async () => {
  await seat.run('node', 'list');
  expect(seat.output).toMatch(/^uuid +name .*\nu +n1 .*false\n$/);
  seat.output = '';
  await seat.run('node', 'list', '-o', 'json');
  expect(JSON.parse(seat.output)).toEqual([
    {
      uuid: 'u',
      name: 'n1',
      maintenance: false,
      power_state: null,
      provision_state: null,
      target_provision_state: null,
    },
  ]);
  seat.output = '';
  await seat.run('node', 'show', 'n1');
  expect(seat.output).toMatch(/^name +n1$/m);
  seat.output = '';
  await seat.run('node', 'show', '-o', 'json', 'n1');
  expect(JSON.parse(seat.output)).toMatchObject({ name: 'n1' });
  await expect(seat.run('node', 'show', 'nope')).rejects.toThrow('Node nope could not be found.');
});

test('-o json prints one document, also for what waits and for what fails', async () => {
  await seat.run('deploy', 'n1', '--wait', '-o', 'json');
  expect(JSON.parse(seat.output)).toMatchObject({ node: { name: 'n1', provision_state: 'active' }, flow: null });
  seat.output = '';
  await seat.run('inspect', 'n1', '-o', 'json');
  expect(JSON.parse(seat.output)).toEqual({ node: 'n1', target: 'inspect' });
  seat.output = '';
  seat.nodeStates = [{ provision_state: 'deploy failed', target_provision_state: null, last_error: 'no disk' }];
  await expect(seat.run('watch', 'n1', '-o', 'json')).rejects.toThrow('no disk');
  expect(JSON.parse(seat.output)).toMatchObject({ node: { last_error: 'no disk' } });
  seat.output = '';
  await seat.run('abort', 'n1', '--wait');
  expect(seat.output).toBe('node n1 is deploy failed\n');
});

test('every command explains itself, and groups list their commands', async () => {
  for (const command of commands) {
    seat.output = '';
    await seat.run(...command.words.split(' '), '--help');
    const flat = seat.output.replaceAll(/\s+/g, ' ');
    expect(flat).toContain(`usage: ${usageLine(command)}`);
    expect(seat.output.split('\n').filter((line) => line.length > 80 && !line.startsWith(' '))).toEqual([]);
    expect(usage()).toContain(command.meaning);
  }
  seat.output = '';
  await seat.run('deploy', '--help');
  expect(seat.output).toContain('"user_data": "#cloud-config\\npackages');
  seat.output = '';
  await seat.run('template', '--help');
  expect(seat.output).toContain('baton template create NAME');
  expect(seat.output).not.toContain('node list');
  seat.output = '';
  await seat.run('--help');
  expect(seat.output).toBe(usage([], 80));
  expect(seat.output.split('\n').filter((line) => line.length > 80)).toEqual([]);
  expect(usageLine(commands.find(({ words }) => words === 'etcd-health') ?? commands[0]!)).toBe(
    'baton etcd-health --design REVISION',
  );
});

test('--version is that of package.json, without a conductor', async () => {
  const manifest = JSON.parse(await readFile('package.json', 'utf8')) as { readonly version: string };
  await seat.run('--version');
  expect(seat.output).toBe(`baton ${manifest.version}\n`);
  expect(seat.calls).toEqual([]);
});

test('bad usage is answered with what would be right', async () => {
  await expect(seat.run('frobnicate')).rejects.toThrow(/^no such command: frobnicate; baton --help lists all$/);
  await expect(seat.run('delpoy', 'a')).rejects.toThrow(
    /^no such command: delpoy; did you mean baton deploy\? baton --help lists all$/,
  );
  await expect(seat.run('node', 'frob', 'secret')).rejects.toThrow(
    /^no such command: node frob; baton node --help lists those of node$/,
  );
  await expect(seat.run()).rejects.toThrow(/^usage:/);
  await expect(seat.run('node')).rejects.toThrow('baton node show NODE');
  await expect(seat.run('node', 'show')).rejects.toThrow('it takes NODE; usage: baton node show NODE');
  await expect(seat.run('deploy', 'n1', '--bogus')).rejects.toThrow(
    /^deploy: there is no option --bogus; baton deploy --help lists all$/,
  );
  await expect(seat.run('undeploy', 'n1', '--wpie')).rejects.toThrow(
    'no option --wpie; did you mean --wipe? baton undeploy',
  );
  await expect(seat.run('undeploy', 'n1', '--preserve_local_storage')).rejects.toThrow(
    'mean --preserve-local-storage?',
  );
  await expect(seat.run('undeploy', 'n1', '--wipe=yes')).rejects.toThrow('undeploy: --wipe: it takes no value');
  await expect(seat.run('deploy', 'n1', '--image')).rejects.toThrow('deploy: --image: URL must stand behind it');
  await expect(seat.run('deploy', 'n1', '--image', '--wait')).rejects.toThrow(
    'one that begins with a dash as --image=-…',
  );
  await expect(seat.run('deploy', 'n1', '--image', 'a', '--image', 'b')).rejects.toThrow(
    '--image: given twice, and not',
  );
  await expect(seat.run('deploy', 'n1', '--timeout', '5')).rejects.toThrow('deploy: --timeout goes with --wait');
  await expect(seat.run('deploy', 'n1', '--wait', '--timeout', 'soon')).rejects.toThrow('number of seconds above 0');
  await expect(seat.run('node', 'list', '-o', 'xml')).rejects.toThrow('it must be json, yaml or text');
  expect(seat.calls).toEqual([]);
});
