import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { renderPluginOrder } from '#conductor/cli/sites/plugin-commands.ts';
import { readPluginFolder } from '#conductor/cli/sites/plugin-folder.ts';
import { orderTasks } from '#conductor/sites/plugins/order-tasks.ts';
import { isFor, pluginSteps } from '#conductor/sites/plugins/plugin-steps.ts';
import { viewOrder } from '#conductor/sites/plugins/plugin-store.ts';
import { postfixRanges } from '#conductor/sites/plugins/plugin-task.ts';
import { PluginUpload, readUpload } from '#conductor/sites/plugins/upload-plugin.ts';

/** docs/plugins.md's worked example. */

async function readExample(name: string) {
  const { body, leftOut } = await readPluginFolder(join(import.meta.dirname, 'example', name));
  const upload = PluginUpload.parse(body);
  const { tasks, faults } = readUpload(upload);
  return { upload, tasks: { name: upload.name, version: upload.version, tasks }, faults, leftOut };
}

const paper = { isTerminal: false, size: () => ({ columns: 80, rows: 24 }) };

test('both plugins are right, with their files', async () => {
  const nics = await readExample('nic-settings');
  expect(nics).toMatchObject({ faults: [], leftOut: [] });
  expect(Object.entries(nics.upload.files).map(([path, { executable }]) => [path, executable])).toEqual([
    ['show-cards', true],
    ['write-settings', true],
  ]);
  const watcher = await readExample('watcher');
  expect(watcher).toMatchObject({ faults: [], leftOut: [] });
  expect(watcher.upload.files['units/watcher.service']).toMatchObject({ executable: false });
});

test('the order is the one that docs/plugins.md prints, and docs/plugins.md has the ranges', async () => {
  const plugins = [(await readExample('nic-settings')).tasks, (await readExample('watcher')).tasks];
  const { order } = orderTasks(plugins);
  const guide = await readFile(join(import.meta.dirname, '../../../docs/plugins.md'), 'utf8');
  const [tasks = ''] = renderPluginOrder(viewOrder(order), true, paper).split('\n\n');
  expect(guide).toContain(tasks);
  for (const { from, to, meaning } of postfixRanges) expect(guide).toContain(`| ${from}–${to} | ${meaning} |`);
  expect(order.filter((each) => isFor(each, ['control'])).map(({ plugin, number }) => `${plugin} ${number}`)).toEqual([
    'nic-settings 1',
    'watcher 1',
  ]);
  expect(pluginSteps(plugins, ['worker'])).toHaveLength(4);
});
