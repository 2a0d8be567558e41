import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { configDriveFiles } from '#conductor/boot/config-drive.ts';
import { exitCodeOf } from '#conductor/cli/run-baton.ts';
import { createNodeTerminal, type NodeTerminal } from '#conductor/cli/testing/node-terminal.ts';

let terminal: NodeTerminal;
beforeEach(() => {
  terminal = createNodeTerminal();
});

const instance = { image_source: 'http://images/old.raw', image_checksum: 'http://images/SUMS', root_gb: 10 };
const sha256 = { image_os_hash_algo: 'sha256', image_os_hash_value: 'ab'.repeat(32) };

test('deploy sets the image by its kind of checksum, then asks for active', async () => {
  terminal.nodeStates = [{ provision_state: 'available', target_provision_state: null }];
  await terminal.run('deploy', 'n1', '--image', 'http://images/x.raw', '--checksum', 'ab'.repeat(32));
  expect(terminal.calls).toEqual([
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
  await expect(terminal.run('deploy', 'n1', '--image', 'http://x', '--checksum', 'zz')).rejects.toThrow(
    '--checksum: it must be sha256: and 64 hexadecimal digits',
  );
});

test('the checksum that image add prints is taken as it stands', async () => {
  terminal.nodeStates = [{ provision_state: 'available', target_provision_state: null }];
  await terminal.run('deploy', 'n1', '--image', 'http://images/x.caibx', '--checksum', `sha256:${'ab'.repeat(32)}`);
  expect(terminal.calls[0]?.[2]).toEqual([
    { op: 'add', path: '/instance_info/image_source', value: 'http://images/x.caibx' },
    { op: 'add', path: '/instance_info/image_os_hash_algo', value: 'sha256' },
    { op: 'add', path: '/instance_info/image_os_hash_value', value: 'ab'.repeat(32) },
  ]);
});

test("an image without a checksum does not keep the other image's; the same image keeps its own", async () => {
  terminal.nodeStates = [{ provision_state: 'available', target_provision_state: null, instance_info: instance }];
  await terminal.run('deploy', 'n1', '--image', 'http://images/new.raw');
  await terminal.run('deploy', 'n1', '--image', 'http://images/old.raw');
  expect(terminal.calls.filter(([method]) => method === 'PATCH').map(([, , patch]) => patch)).toEqual([
    [
      { op: 'add', path: '/instance_info/image_source', value: 'http://images/new.raw' },
      { op: 'remove', path: '/instance_info/image_checksum' },
    ],
    [{ op: 'add', path: '/instance_info/image_source', value: 'http://images/old.raw' }],
  ]);
});

test('plan touches nothing, and says when the verb would be refused', async () => {
  terminal.nodeStates = [{ provision_state: 'active', target_provision_state: null, instance_info: instance }];
  const image = ['--image', 'http://images/new.raw', '--checksum', 'ab'.repeat(32)];
  const ofImage = { image_source: 'http://images/new.raw', ...sha256, image_checksum: null };
  await expect(terminal.run('plan', 'n1', ...image)).rejects.toThrow(
    /^node n1 is active: deploy would be refused; --target rebuild plans a rebuild$/,
  );
  expect(terminal.output).toContain('hash abc');
  await terminal.run('plan', 'n1', '--target', 'rebuild', ...image);
  expect(terminal.calls).toEqual([
    ['POST', '/v1/nodes/n1/plan', { target: 'active', instance_info: ofImage }],
    ['POST', '/v1/nodes/n1/plan', { target: 'rebuild', instance_info: ofImage }],
  ]);
  terminal.nodeStates = [{ provision_state: 'manageable', target_provision_state: null }];
  await expect(terminal.run('plan', 'n1')).rejects.toThrow('deploy would be refused; possible now: provide, inspect');
  terminal.nodeStates = [{ provision_state: 'available', target_provision_state: null, maintenance: true }];
  await expect(terminal.run('plan', 'n1')).rejects.toThrow('node n1 is in maintenance: deploy would be refused');
});

test("plan ends with the conductor's own refusal, after the plan; without one it ends well", async () => {
  terminal.nodeStates = [{ provision_state: 'available', target_provision_state: null }];
  const message = 'Node u failed validation. deploy: instance_info.image_source must be an http:// or https:// URL';
  terminal.plan = { refused: { code: 'invalid_argument', message } };
  const fault: unknown = await terminal.run('plan', 'n1').catch((error: unknown) => error);
  expect(fault).toMatchObject({ message: `it would be refused: ${message}` });
  expect(exitCodeOf(fault)).toBe(1);
  expect(terminal.output).toContain('hash abc');
  // of a node that a client by itself would take for one that can't start
  terminal.nodeStates = [{ provision_state: 'manageable', target_provision_state: null }];
  terminal.plan = { refused: null };
  await expect(terminal.run('plan', 'n1')).resolves.toBeUndefined();
});

test('deploy leaves an instance that stays as it is', async () => {
  await expect(terminal.run('deploy', 'n1', '--image', 'http://images/new.raw')).rejects.toThrow(
    'node n1 is active: deploy would be refused; baton rebuild writes its image again',
  );
  expect(terminal.calls).toEqual([]);
});

test('an image without a URL is refused before the node notes it', async () => {
  const asked = terminal.calls.length;
  await expect(terminal.run('deploy', 'n1', '--image', 'debian.raw')).rejects.toThrow(
    '--image: it must be the http://',
  );
  expect(terminal.calls).toHaveLength(asked);
});

test('deploy takes a config drive as JSON or as it is, and waits', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-cli-'));
  try {
    await writeFile(join(directory, 'drive.json'), '{"meta_data": {"hostname": "h"}}');
    terminal.nodeStates.unshift({ provision_state: 'deploying', target_provision_state: 'active' });
    await terminal.run('deploy', 'n1', '--config-drive', join(directory, 'drive.json'), '--wait');
    expect(terminal.calls[0]?.[2]).toEqual({ target: 'active', configdrive: { meta_data: { hostname: 'h' } } });
    expect(terminal.output).toBe('node n1 is active\n');
    await writeFile(join(directory, 'bad.json'), '{"meta_data": ');
    const fault: unknown = await terminal
      .run('deploy', 'n1', '--config-drive', join(directory, 'bad.json'))
      .catch((e) => e);
    expect(exitCodeOf(fault)).toBe(2);
    await writeFile(join(directory, 'drive.b64'), 'H4sI\n');
    await terminal.run('deploy', 'n1', '--config-drive', join(directory, 'drive.b64'));
    expect(terminal.calls[1]?.[2]).toMatchObject({ configdrive: 'H4sI' });
    await expect(terminal.run('deploy', 'n1', '--config-drive', '/nowhere')).rejects.toThrow('read /nowhere');
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('docs/examples/config-drive.json is one that the conductor takes', async () => {
  const drive = await readFile(new URL('../../../docs/examples/config-drive.json', import.meta.url), 'utf8');
  const files = configDriveFiles(JSON.parse(drive), { uuid: 'u' });
  expect(Object.keys(files)).toEqual(['meta_data.json', 'network_data.json', 'user_data']);
});
