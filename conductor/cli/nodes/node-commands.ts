import type { NodeTpmAnswer } from '#conductor/api/attestation.ts';
import type { TraitsAnswer } from '#conductor/api/node-parts.ts';
import type { NodeAnswer } from '#conductor/api/resources.ts';
import { renderNode } from '#conductor/cli/nodes/show-node.ts';
import { callFor, getNode, listAll, readOfNode } from '#conductor/cli/shell/api-client.ts';
import { assignmentHelp, readAssignments, toPatch } from '#conductor/cli/shell/assignments.ts';
import { paintStates } from '#conductor/cli/shell/colours.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandOption,
  listOption,
  numberOption,
  pathOperand,
  requiredOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { readDocument } from '#conductor/cli/shell/input-files.ts';
import { forEachOperand, isWanted, onNodes } from '#conductor/cli/shell/on-nodes.ts';
import { cell, columnsOf, fieldTable, print } from '#conductor/cli/shell/print.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { isNodeField, type NodeField, nodeFieldVersions } from '#conductor/model/node-words.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { didYouMean, nearestWord } from '#shared/words.ts';

const nodeFields = Object.keys(nodeFieldVersions);

const byDefault: readonly NodeField[] = [
  'uuid',
  'name',
  'provision_state',
  'target_provision_state',
  'power_state',
  'maintenance',
];

/** `-o wide` shows these too. */
const further: readonly NodeField[] = ['health', 'resource_class', 'conductor_group', 'driver', 'instance_uuid'];
/** Fields that are left out first where a terminal is too narrow for all. */
const leastWorth: readonly NodeField[] = ['uuid', 'target_provision_state', 'maintenance'];

/** Option → the API's filter, value and meaning. */
const filters = {
  state: { query: 'provision_state', value: 'STATE', meaning: 'only nodes in this provision state' },
  class: { query: 'resource_class', value: 'CLASS', meaning: 'only of this resource class' },
  owner: { query: 'owner', value: 'PROJECT', meaning: 'only of this owner' },
  lessee: { query: 'lessee', value: 'PROJECT', meaning: 'only lent to this lessee' },
  driver: { query: 'driver', value: 'DRIVER', meaning: 'only with this driver' },
  group: { query: 'conductor_group', value: 'GROUP', meaning: 'only of this conductor group' },
  'instance-name': { query: 'instance_name', value: 'NAME', meaning: 'only with an instance of this name' },
  shard: { query: 'shard', value: 'SHARD', meaning: 'only of this shard' },
  fault: { query: 'fault', value: 'FAULT', meaning: 'only with this fault, like "power failure"' },
  maintenance: { query: 'maintenance', value: 'true|false', meaning: 'only in maintenance, or not' },
  retired: { query: 'retired', value: 'true|false', meaning: 'only retired, or not' },
  allocated: { query: 'associated', value: 'true|false', meaning: 'only with an instance, or without' },
} as const satisfies Record<string, CommandOption & { query: string }>;

function readColumns(input: CommandInput): NodeField[] {
  const text = textOption(input, 'columns');
  const all = textOption(input, 'output') === 'wide' ? [...byDefault, ...further] : [...byDefault];
  const names = text === undefined ? all : text.split(',').map((name) => name.trim());
  const unknown = names.filter((name) => !isNodeField(name));
  if (unknown[0] !== undefined) {
    throw usageError(`--columns: a node has no field ${unknown.join(', ')}${didYouMean(unknown[0], nodeFields)}`);
  }
  return names.filter(isNodeField);
}

function requireOutput(input: CommandInput): void {
  const output = textOption(input, 'output') ?? 'text';
  if (!['wide', 'name', 'json', 'yaml', 'text'].includes(output))
    throw usageError('node list: -o: it must be json, yaml or text, wide or name');
}

/** Choices that the API has no filter for. */
const chosenHere = {
  rack: { value: 'RACK', meaning: 'only nodes whose properties.rack, else extra.rack, is this' },
  trait: { value: 'TRAIT', repeats: true, meaning: 'only with all of these traits' },
} as const satisfies Record<string, CommandOption>;

interface Chosen {
  /** The fields that the choice needs. */
  readonly fields: readonly NodeField[];
  readonly isWanted: (node: NodeAnswer) => boolean;
}

function readChoice(input: CommandInput): Chosen {
  const [rack, traits] = [textOption(input, 'rack'), listOption(input, 'trait')];
  const ofRack: NodeField[] = rack === undefined ? [] : ['properties', 'extra'];
  return {
    fields: [...ofRack, ...(traits.length > 0 ? (['traits'] as const) : [])],
    isWanted: isWanted(rack, traits),
  };
}

const howToEnrol =
  'No node is enrolled. One: baton node create NAME --help; many: baton node create -f nodes.yaml; from elsewhere: baton import --help';

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const columns = readColumns(input);
  requireOutput(input);
  const sort = textOption(input, 'sort')?.split(':');
  if (sort && (sort.length > 2 || !['asc', 'desc', undefined].includes(sort[1]))) {
    throw usageError('--sort: it must be FIELD, FIELD:asc or FIELD:desc');
  }
  const [key] = sort ?? [];
  // what else the conductor sorts by it knows itself; this is a slip of the hand
  if (key !== undefined && !isNodeField(key) && nearestWord(key, nodeFields) !== undefined) {
    throw usageError(`--sort: a node has no field ${key}${didYouMean(key, nodeFields)}`);
  }
  const chosen = readChoice(input);
  const query: Record<string, string | undefined> = {
    // pages go on behind the last one's uuid
    fields: [...new Set(['uuid', 'name', ...columns, ...chosen.fields])].join(','),
    sort_key: key,
    sort_dir: sort?.[1],
  };
  for (const [name, { query: filter }] of Object.entries(filters)) query[filter] = textOption(input, name);
  const most = numberOption(input, 'limit');
  // how many have to be read for so many is not known before
  const read = chosen.fields.length > 0 ? undefined : most;
  const all = await listAll<NodeAnswer>(context.client, { path: '/v1/nodes', key: 'nodes' }, query, read);
  const nodes = all.filter(chosen.isWanted).slice(0, most);
  const json = nodes.map((node) => Object.fromEntries(columns.map((name) => [name, node[name] ?? null])));
  print(context, input, { json, text: paintStates(context.screen, textOf(context, input, { nodes, columns })) });
  const isChosen = [...Object.keys(filters), ...Object.keys(chosenHere)].some(
    (name) => input.values[name] !== undefined,
  );
  if (nodes.length === 0 && !isChosen) context.notify?.(howToEnrol);
}

interface Listed {
  readonly nodes: readonly NodeAnswer[];
  readonly columns: readonly NodeField[];
}

function textOf({ screen }: CommandContext, input: CommandInput, { nodes, columns }: Listed): string {
  const output = textOption(input, 'output');
  if (output === 'name') return nodes.map((node) => `${cell(node.name ?? node.uuid)}\n`).join('');
  const isChosen = output === 'wide' || textOption(input, 'columns') !== undefined;
  const whole = tableOf({ nodes, columns });
  return screen.isTerminal && !isChosen ? fitTable(whole, { nodes, columns }, screen.size().columns) : whole;
}

function tableOf({ nodes, columns }: Listed): string {
  return columnsOf(nodes, columns);
}

/** A line each, as long as there is a column that can be done without; a node without a name needs its UUID. */
function fitTable(whole: string, { nodes, columns }: Listed, width: number): string {
  const isNamed = nodes.every((node) => typeof node.name === 'string');
  const dropped = leastWorth.find((name) => columns.includes(name) && (name !== 'uuid' || isNamed));
  if (dropped === undefined || whole.split('\n').every((line) => line.length <= width)) return whole;
  const rest = { nodes, columns: columns.filter((name) => name !== dropped) };
  return fitTable(tableOf(rest), rest, width);
}

export const nodeListCommand: Command = {
  words: 'node list',
  options: {
    ...filters,
    ...chosenHere,
    columns: { value: 'FIELD,…', meaning: `fields to show (default: ${byDefault.join(',')})` },
    sort: { value: 'FIELD[:desc]', meaning: 'sort by this field' },
    output: {
      value: 'wide|name|json|yaml|text',
      short: 'o',
      meaning: 'wide: more fields; name: names alone, a line each',
    },
    limit: { value: 'COUNT', meaning: 'at most this many; default: all' },
  },
  meaning: 'nodes with their states',
  run: list,
};

const raidForm = '{"logical_disks": […]}, JSON or YAML';

async function show(context: CommandContext, input: CommandInput): Promise<void> {
  const ident = pathOperand(input);
  const node = await getNode(context.client, ident);
  const tpm = input.document === undefined ? await readTpm(context, ident) : undefined;
  print(context, input, { json: node, text: renderNode(node, context.screen, tpm) });
}

/** Reads what the node's TPM has proved; those who may not, or a conductor in trouble, hide nothing else of the node. */
async function readTpm({ client }: CommandContext, ident: string): Promise<Parameters<typeof renderNode>[2]> {
  try {
    return await callFor<NodeTpmAnswer>(client, 'GET', `/v1/nodes/${ident}/tpm`);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { problem: errorChain(error) };
  }
}

async function showRaid(context: CommandContext, input: CommandInput): Promise<void> {
  const node = await getNode(context.client, pathOperand(input));
  const json = { raid_config: node.raid_config, target_raid_config: node.target_raid_config };
  print(context, input, { json, text: fieldTable(json) });
}

async function setRaid(context: CommandContext, input: CommandInput): Promise<void> {
  await putRaid(context, input, await readDocument('--config', requiredOption(input, 'config')));
}

async function putRaid(context: CommandContext, input: CommandInput, config: unknown): Promise<void> {
  await context.client.call('PUT', `/v1/nodes/${pathOperand(input)}/states/raid`, config);
  const node = input.operands[0] ?? '';
  print(context, input, {
    json: { node, target_raid_config: config },
    text: `node ${node}: target RAID configuration noted\n`,
  });
}

async function change(context: CommandContext, input: CommandInput): Promise<void> {
  const [name = '', ...operands] = input.operands;
  await patchNode(context, input, name, toPatch(await readAssignments(operands, context)));
}

async function unset(context: CommandContext, input: CommandInput): Promise<void> {
  const [name = '', ...fields] = input.operands;
  await patchNode(context, input, name, toPatch([], fields));
}

async function patchNode(context: CommandContext, input: CommandInput, name: string, patch: unknown[]): Promise<void> {
  const node = await context.client.call('PATCH', `/v1/nodes/${encodeURIComponent(name)}`, patch);
  print(context, input, { json: node, text: `node ${name} changed\n` });
}

function remove(context: CommandContext, input: CommandInput): Promise<void> {
  return forEachOperand(context, input, async (name, ident) => {
    await context.client.call('DELETE', `/v1/nodes/${ident}`);
    return { json: { deleted: name }, text: `node ${name} deleted\n` };
  });
}

function changeTraits(method: 'PUT' | 'DELETE', done: string): Command['run'] {
  return async (context, input) => {
    const [node = '', ...traits] = input.operands;
    for (const trait of traits) {
      await context.client.call(method, `/v1/nodes/${encodeURIComponent(node)}/traits/${encodeURIComponent(trait)}`);
    }
    print(context, input, { json: { node, traits }, text: `node ${node}: ${traits.join(', ')} ${done}\n` });
  };
}

async function listTraits(context: CommandContext, input: CommandInput): Promise<void> {
  const { traits } = await readOfNode<TraitsAnswer>(context.client, pathOperand(input), '/traits');
  print(context, input, { json: traits, text: traits.map((trait) => `${trait}\n`).join('') });
}

export const nodeCommands: readonly Command[] = [
  { words: 'node show', operands: ['NODE'], meaning: 'everything about a node', run: show },
  { words: 'node raid show', operands: ['NODE'], meaning: 'the RAID that a node has, and should have', run: showRaid },
  onNodes({
    words: 'node raid set',
    operands: ['NODE'],
    options: { config: { value: 'FILE', required: raidForm, meaning: raidForm } },
    meaning: 'set the RAID that nodes should have',
    details: 'Nothing is built yet: cleaning with raid.create_configuration does that.',
    run: setRaid,
  }),
  onNodes({
    words: 'node raid clear',
    operands: ['NODE'],
    meaning: 'clear the RAID that nodes should have',
    run: (context, input) => putRaid(context, input, {}),
  }),
  onNodes({
    words: 'node set',
    operands: ['NODE', 'FIELD=VALUE...'],
    meaning: 'change fields of a node, or of those selected',
    details: assignmentHelp,
    run: change,
  }),
  onNodes({
    words: 'node unset',
    operands: ['NODE', 'FIELD...'],
    meaning: 'remove fields of a node, or of those selected; or keys of them: extra.rack',
    run: unset,
  }),
  onNodes({ words: 'node delete', operands: ['NODE'], meaning: 'delete nodes', run: remove }),
  { words: 'node trait list', operands: ['NODE'], meaning: 'the traits of a node', run: listTraits },
  onNodes({
    words: 'node trait add',
    operands: ['NODE', 'TRAIT...'],
    meaning: 'add traits to a node, or to those selected',
    run: changeTraits('PUT', 'added'),
  }),
  onNodes({
    words: 'node trait remove',
    operands: ['NODE', 'TRAIT...'],
    meaning: 'remove traits from a node, or from those selected',
    run: changeTraits('DELETE', 'removed'),
  }),
];
