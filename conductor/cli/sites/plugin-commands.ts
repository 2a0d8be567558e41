import type { PluginAnswer, PluginDetailAnswer, PluginOrderAnswer } from '#conductor/api/sites.ts';
import { answerFor, callFor, readList, withQuery } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  pathOperand,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { cell, print, table, tableFor } from '#conductor/cli/shell/print.ts';
import { adviseOnRevision } from '#conductor/cli/sites/site-revision-commands.ts';
import { AppError } from '#shared/errors/app-error.ts';

const path = '/api/v1.0/plugins';

async function upload(context: CommandContext, input: CommandInput): Promise<void> {
  const { readPluginFolder } = await import('#conductor/cli/sites/plugin-folder.ts');
  const { body, leftOut } = await readPluginFolder(input.operands[0] ?? '.');
  const plugin = await answerFor<PluginDetailAnswer>(context.client, 'upload a plugin', 'POST', path, body);
  const left = leftOut.length === 0 ? '' : `not needed on nodes, and left out: ${leftOut.join(', ')}\n`;
  const counts = `${plugin.tasks.length} tasks, ${plugin.files.length} files`;
  print(context, input, {
    json: plugin,
    text: `plugin ${plugin.name} ${plugin.version} uploaded: ${counts}\n${left}`,
  });
}

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const plugins = await readList<PluginAnswer>(context.client, path, 'plugins');
  const rows = plugins.map((plugin) => [
    plugin.name,
    plugin.version,
    plugin.tasks.map(({ stage }) => stage).join(', '),
    cell(plugin.title),
  ]);
  print(context, input, { json: plugins, text: table([['name', 'version', 'tasks', 'title'], ...rows]) });
}

async function show(context: CommandContext, input: CommandInput): Promise<void> {
  const plugin = await callFor<PluginDetailAnswer>(context.client, 'GET', addressOf(input));
  if (!plugin) throw new AppError('not_found', `there is no plugin ${input.operands.join(' ')}`);
  const tasks = plugin.tasks.map((task) => [
    String(task.task),
    task.stage,
    describeRoles(task.role),
    task.type,
    cell(task.parameters),
  ]);
  const files = plugin.files.map((file) => [`  ${file.path}`, String(file.bytes), file.executable ? 'program' : '']);
  const head = `${plugin.name} ${plugin.version}${plugin.title === null ? '' : `: ${plugin.title}`}\n`;
  const text = `${head}${table([['#', 'stage', 'role', 'type', 'parameters'], ...tasks])}files:\n${table(files)}`;
  print(context, input, { json: plugin, text });
}

async function remove(context: CommandContext, input: CommandInput): Promise<void> {
  await context.client.call('DELETE', addressOf(input));
  const shown = input.operands.join(' ');
  print(context, input, { json: { deleted: shown }, text: `plugin ${shown} deleted\n` });
}

async function order(context: CommandContext, input: CommandInput): Promise<void> {
  const [version, role] = [textOption(input, 'version'), textOption(input, 'role')];
  const query = { plugins: input.operands.join(',') || undefined, version, role };
  const answer = await callFor<PluginOrderAnswer>(context.client, 'GET', withQuery(`${path}/order`, query));
  if (!answer) throw new AppError('not_found', await noSuchPlugins(context, input));
  print(context, input, { json: answer, text: renderPluginOrder(answer, flagOption(input, 'ranges'), context.screen) });
}

/** The API's 404 has no words here. */
async function noSuchPlugins({ client }: CommandContext, input: CommandInput): Promise<string> {
  const version = textOption(input, 'version');
  if (version !== undefined) return adviseOnRevision({ client }, version);
  const known = await readList<PluginAnswer>(client, path, 'plugins');
  const there = known.map((plugin) => `${plugin.name}@${plugin.version}`);
  const missing = input.operands.filter((name) => !there.includes(name));
  return `plugin ${missing.join(', ')} was not uploaded: there are ${there.join(', ') || 'none'}`;
}

/** The tasks in order, each with the reason for its place, and what postfixes are for. Pure. */
export function renderPluginOrder(
  { tasks, ranges }: PluginOrderAnswer,
  withRanges: boolean,
  screen: Parameters<typeof tableFor>[0],
): string {
  const rows = tasks.map((each) => [
    String(each.position),
    each.stage,
    `${each.plugin}: task ${each.task}`,
    describeRoles(each.role),
    each.type,
    each.reason,
  ]);
  const order =
    rows.length === 0
      ? 'no tasks\n'
      : tableFor(screen, [['#', 'stage', 'plugin', 'role', 'type', 'why it is there'], ...rows]);
  if (!withRanges) return order;
  const legend = ranges.map(({ from, to, meaning }) => [`  ${from}–${to}`, meaning]);
  return `${order}\npostfixes by convention (others are allowed; none counts as 0):\n${table(legend)}`;
}

function describeRoles(role: '*' | readonly string[]): string {
  return role === '*' ? '*' : role.join(', ');
}

function addressOf(input: CommandInput): string {
  return `${path}/${pathOperand(input)}/${encodeURIComponent(input.operands[1] ?? '')}`;
}

export const pluginCommands: readonly Command[] = [
  {
    words: 'plugin upload',
    operands: ['DIR'],
    meaning: 'upload a plugin: metadata.yaml, tasks.yaml, deployment_scripts/',
    details:
      "Fuel's layout. metadata.yaml has name, version and title; the tasks' commands run beside the files of\n" +
      'deployment_scripts. Another content needs another version. No secrets: everybody who may read plugins sees all of it.',
    run: upload,
  },
  { words: 'plugin list', meaning: 'plugins with the stages of their tasks', run: list },
  { words: 'plugin show', operands: ['NAME', 'VERSION'], meaning: 'a plugin with its tasks and files', run: show },
  { words: 'plugin delete', operands: ['NAME', 'VERSION'], meaning: 'delete a plugin that no site needs', run: remove },
  {
    words: 'plugin order',
    operands: ['[NAME@VERSION...]'],
    options: {
      version: { value: 'REVISION', meaning: 'buffer, committed, a number: the plugins of that revision' },
      role: { value: 'TAG', meaning: 'only what runs on nodes with this tag' },
      ranges: { meaning: 'and what postfixes are for by convention' },
    },
    meaning: 'the order in which tasks run, and why',
    details:
      'Without names the plugins of the committed documents; where nothing is committed, all that were uploaded.',
    run: order,
  },
];
