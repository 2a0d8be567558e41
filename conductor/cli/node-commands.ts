import { assignmentHelp, readAssignments, toPatch } from '#conductor/cli/assignments.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  pathOperand,
  requiredOption,
} from '#conductor/cli/command.ts';
import { forEachOperand } from '#conductor/cli/for-each.ts';
import { getNode, noNode } from '#conductor/cli/get-node.ts';
import { onNodes } from '#conductor/cli/on-nodes.ts';
import { fieldTable, print } from '#conductor/cli/print.ts';
import { readDocument } from '#conductor/cli/read-input-file.ts';

const raidForm = '{"logical_disks": […]}, JSON or YAML';

async function show(context: CommandContext, input: CommandInput): Promise<void> {
  const node = await getNode(context.client, pathOperand(input));
  const hidden = ['links', 'ports', 'portgroups', 'states', 'volume'];
  const fields = Object.entries(node).filter(([name]) => !hidden.includes(name));
  print(context, input, { json: node, text: fieldTable(Object.fromEntries(fields)) });
}

async function showRaid(context: CommandContext, input: CommandInput): Promise<void> {
  const node = await getNode(context.client, pathOperand(input));
  const json = { raid_config: node['raid_config'], target_raid_config: node['target_raid_config'] };
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
  const answer = await context.client.call('GET', `/v1/nodes/${pathOperand(input)}/traits`);
  if (!answer) throw noNode(pathOperand(input));
  const traits = answer['traits'] as string[];
  print(context, input, { json: traits, text: traits.map((trait) => `${trait}\n`).join('') });
}

export const nodeCommands: readonly Command[] = [
  { words: 'node show', operands: ['NODE'], meaning: 'everything about a node', run: show },
  { words: 'node raid show', operands: ['NODE'], meaning: 'the RAID that a node has, and shall have', run: showRaid },
  {
    words: 'node raid set',
    operands: ['NODE'],
    options: { config: { value: 'FILE', required: raidForm, meaning: raidForm } },
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
    words: 'node set',
    operands: ['NODE', 'FIELD=VALUE...'],
    meaning: 'change fields of a node',
    details: assignmentHelp,
    run: change,
  },
  {
    words: 'node unset',
    operands: ['NODE', 'FIELD...'],
    meaning: 'take fields of a node away, or keys of them: extra.rack',
    run: unset,
  },
  onNodes({ words: 'node delete', operands: ['NODE'], meaning: 'forget nodes', run: remove }),
  { words: 'node trait list', operands: ['NODE'], meaning: 'the traits of a node', run: listTraits },
  {
    words: 'node trait add',
    operands: ['NODE', 'TRAIT...'],
    meaning: 'give a node traits',
    run: changeTraits('PUT', 'added'),
  },
  {
    words: 'node trait remove',
    operands: ['NODE', 'TRAIT...'],
    meaning: 'take traits away from a node',
    run: changeTraits('DELETE', 'removed'),
  },
];
