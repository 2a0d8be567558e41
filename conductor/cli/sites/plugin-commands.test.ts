import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-plugin-folder-'));
});
afterEach(() => rm(folder, { recursive: true }));

const task = {
  task: 1,
  id: null,
  role: ['worker', 'control'],
  stage: 'post_deployment/100',
  type: 'shell',
  parameters: { cmd: './deploy.sh', timeout: 42 },
  requires: [],
  required_for: [],
};
const plugin = {
  name: 'ntp',
  version: '1.0',
  title: 'Time',
  tasks: [task],
  files: [{ path: 'deploy.sh', bytes: 10, executable: true }],
};

test("a folder in Fuel's layout is uploaded, and what is left out is told", async () => {
  await mkdir(join(folder, 'deployment_scripts/lib'), { recursive: true });
  await mkdir(join(folder, 'repositories'));
  await writeFile(join(folder, 'metadata.yaml'), 'name: ntp\nversion: "1.5"\ntitle: Time\npackage_version: 2.0.0\n');
  await writeFile(join(folder, 'tasks.yaml'), '- tasks\n');
  await writeFile(join(folder, 'environment_config.yaml'), '');
  await writeFile(join(folder, 'deployment_scripts/deploy.sh'), '#!/bin/sh\n');
  await chmod(join(folder, 'deployment_scripts/deploy.sh'), 0o755);
  await symlink('../deploy.sh', join(folder, 'deployment_scripts/lib/link'));
  const terminal = createRecordingTerminal(() => plugin);
  expect(await terminal.run('plugin', 'upload', folder)).toBe(
    'plugin ntp 1.0 uploaded: 1 tasks, 1 files\n' +
      'not needed on nodes, and left out: environment_config.yaml, repositories\n',
  );
  const content = Buffer.from('#!/bin/sh\n').toString('base64');
  const file = { content, executable: true };
  expect(terminal.calls).toEqual([
    [
      'POST /api/v1.0/plugins',
      {
        name: 'ntp',
        version: '1.5',
        title: 'Time',
        tasks: '- tasks\n',
        files: { 'deploy.sh': file, 'lib/link': file },
      },
    ],
  ]);
});

test('what is missing or can not be read is named', async () => {
  const terminal = createRecordingTerminal(() => plugin);
  await expect(terminal.run('plugin', 'upload', folder)).rejects.toThrow(`${folder} has no metadata.yaml`);
  await writeFile(join(folder, 'metadata.yaml'), 'name: ntp\nversion: 1.10\n');
  await expect(terminal.run('plugin', 'upload', folder)).rejects.toThrow('version: must be text: put it into quotes');
  await writeFile(join(folder, 'metadata.yaml'), 'title: [1]\n');
  await expect(terminal.run('plugin', 'upload', folder)).rejects.toThrow(
    'metadata.yaml: name: is missing; it must be text; version: is missing; it must be text; title: must be text',
  );
  await writeFile(join(folder, 'metadata.yaml'), 'name: a\nversion: "1"\n');
  await expect(terminal.run('plugin', 'upload', folder)).rejects.toThrow('tasks.yaml');
  await writeFile(join(folder, 'tasks.yaml'), '');
  await mkdir(join(folder, 'deployment_scripts'));
  await symlink('nowhere', join(folder, 'deployment_scripts/broken'));
  await expect(terminal.run('plugin', 'upload', folder)).rejects.toThrow('deployment_scripts/broken');
  expect(terminal.calls).toEqual([]);
});

test('plugins are listed, shown and deleted', async () => {
  const terminal = createRecordingTerminal((request) =>
    request === 'GET /api/v1.0/plugins' ? { plugins: [plugin] } : request.includes('gone') ? undefined : plugin,
  );
  expect(await terminal.run('plugin', 'list')).toContain('ntp   1.0      post_deployment/100  Time');
  expect(await terminal.run('plugin', 'show', 'ntp', '1.0')).toContain('worker, control  shell');
  await terminal.run('plugin', 'delete', 'ntp', '1.0+x');
  expect(terminal.calls.at(-1)).toEqual(['DELETE /api/v1.0/plugins/ntp/1.0%2Bx']);
  await expect(terminal.run('plugin', 'show', 'gone', '1')).rejects.toThrow('there is no plugin gone 1');
});

test('the order is told with its reasons and the ranges', async () => {
  const answer = {
    tasks: [{ ...task, position: 1, plugin: 'ntp', version: '1.0', range: 'hardware', reason: 'first of all' }],
    ranges: [{ from: 0, to: 999, meaning: 'hardware' }],
  };
  const terminal = createRecordingTerminal((request) => (request.includes('none') ? { ...answer, tasks: [] } : answer));
  const text = await terminal.run('plugin', 'order', 'ntp@1.0', 'b@2', '--role', 'worker');
  expect(terminal.calls).toEqual([['GET /api/v1.0/plugins/order?plugins=ntp%401.0%2Cb%402&role=worker']]);
  expect(text).toContain('1  post_deployment/100  ntp: task 1  worker, control  shell  first of all');
  expect(text).not.toContain('0–999');
  expect(await terminal.run('plugin', 'order', '--ranges')).toContain('  0–999  hardware');
  expect(await terminal.run('plugin', 'order', '--version', 'none')).toContain('no tasks');
});
