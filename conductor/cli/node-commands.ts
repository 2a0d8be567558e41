import type { Json } from '#conductor/cli/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  pathOperand,
  textOption,
} from '#conductor/cli/command.ts';
import { cell, fieldTable, print, table } from '#conductor/cli/print.ts';
import { readDocument } from '#conductor/cli/read-input-file.ts';
import { AppError } from '#shared/errors/app-error.ts';

const columns = ['uuid', 'name', 'provision_state', 'target_provision_state', 'power_state', 'maintenance'] as const;
const pageSize = 1000;

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const state = textOption(input, 'state');
  const filter = state === undefined ? '' : `&provision_state=${encodeURIComponent(state)}`;
  const nodes: Json[] = [];
  for (;;) {
    const last = nodes.at(-1);
    const marker = last === undefined ? '' : `&marker=${cell(last['uuid'])}`;
    const path = `/v1/nodes?fields=${columns.join(',')}&limit=${pageSize}${filter}${marker}`;
    const page = ((await context.client.call('GET', path))?.['nodes'] ?? []) as Json[];
    nodes.push(...page);
    if (page.length < pageSize) break;
  }
  const rows = nodes.map((node) => columns.map((name) => cell(node[name])));
  const json = nodes.map((node) => Object.fromEntries(columns.map((name) => [name, node[name] ?? null])));
  print(context, input, { json, text: table([[...columns], ...rows]) });
}

async function getNode(context: CommandContext, input: CommandInput): Promise<Json> {
  const node = await context.client.call('GET', `/v1/nodes/${pathOperand(input)}`);
  if (!node) throw new AppError('not_found', `there is no node ${input.operands[0]}`);
  return node;
}

async function show(context: CommandContext, input: CommandInput): Promise<void> {
  const node = await getNode(context, input);
  const hidden = ['links', 'ports', 'portgroups', 'states', 'volume'];
  const fields = Object.entries(node).filter(([name]) => !hidden.includes(name));
  print(context, input, { json: node, text: fieldTable(Object.fromEntries(fields)) });
}

async function showRaid(context: CommandContext, input: CommandInput): Promise<void> {
  const node = await getNode(context, input);
  const json = { raid_config: node['raid_config'], target_raid_config: node['target_raid_config'] };
  print(context, input, { json, text: fieldTable(json) });
}

async function setRaid(context: CommandContext, input: CommandInput): Promise<void> {
  const file = textOption(input, 'config');
  if (file === undefined) throw new AppError('invalid_argument', 'node raid set: --config FILE must be given');
  await putRaid(context, input, await readDocument('--config', file));
}

async function putRaid(context: CommandContext, input: CommandInput, config: unknown): Promise<void> {
  await context.client.call('PUT', `/v1/nodes/${pathOperand(input)}/states/raid`, config);
  const node = input.operands[0] ?? '';
  print(context, input, {
    json: { node, target_raid_config: config },
    text: `node ${node}: target RAID configuration noted\n`,
  });
}

async function setMaintenance(context: CommandContext, input: CommandInput): Promise<void> {
  const reason = textOption(input, 'reason');
  const body = reason === undefined ? {} : { reason };
  await context.client.call('PUT', `/v1/nodes/${pathOperand(input)}/maintenance`, body);
  printMaintenance(context, input, true);
}

async function unsetMaintenance(context: CommandContext, input: CommandInput): Promise<void> {
  await context.client.call('DELETE', `/v1/nodes/${pathOperand(input)}/maintenance`);
  printMaintenance(context, input, false);
}

function printMaintenance(context: CommandContext, input: CommandInput, maintenance: boolean): void {
  const node = input.operands[0] ?? '';
  const text = `node ${node}: ${maintenance ? 'in maintenance' : 'no longer in maintenance'}\n`;
  print(context, input, { json: { node, maintenance }, text });
}

export const nodeCommands: readonly Command[] = [
  {
    words: 'node list',
    options: { state: { value: 'STATE', meaning: 'only nodes in this provision state' } },
    meaning: 'nodes with their states',
    run: list,
  },
  { words: 'node show', operands: ['NODE'], meaning: 'everything about a node', run: show },
  { words: 'node raid show', operands: ['NODE'], meaning: 'the RAID that a node has, and shall have', run: showRaid },
  {
    words: 'node raid set',
    operands: ['NODE'],
    options: { config: { value: 'FILE', meaning: 'JSON or YAML: {"logical_disks": […]}' } },
    meaning: 'say what RAID a node shall have',
    details: 'Nothing is built yet: cleaning with raid.create_configuration does that.',
    run: setRaid,
  },
  {
    words: 'node raid clear',
    operands: ['NODE'],
    meaning: 'say that a node shall have no RAID',
    run: (context, input) => putRaid(context, input, {}),
  },
  {
    words: 'node maintenance set',
    operands: ['NODE'],
    options: { reason: { value: 'TEXT', meaning: 'why, for whoever finds it so' } },
    meaning: 'keep the conductor from working on a node',
    run: setMaintenance,
  },
  {
    words: 'node maintenance unset',
    operands: ['NODE'],
    meaning: 'let the conductor work on a node again, as after a failed cleaning',
    run: unsetMaintenance,
  },
];
