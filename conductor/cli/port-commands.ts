import type { Json } from '#conductor/cli/api-client.ts';
import { assignmentHelp, readAssignments, toObject } from '#conductor/cli/assignments.ts';
import { type Command, type CommandContext, requiredOption } from '#conductor/cli/command.ts';
import { noNode } from '#conductor/cli/get-node.ts';
import { cell, print } from '#conductor/cli/print.ts';
import {
  deleteCommand,
  listCommand,
  type Resource,
  setCommand,
  showCommand,
} from '#conductor/cli/resource-commands.ts';

const nodeFilter = { query: 'node', value: 'NODE', meaning: 'only of this node' };

const ports: Resource = {
  words: 'port',
  operand: 'PORT',
  path: '/v1/ports',
  key: 'ports',
  columns: ['uuid', 'address', 'node_uuid', 'pxe_enabled', 'physical_network', 'portgroup_uuid'],
  filters: { node: nodeFilter, address: { query: 'address', value: 'MAC', meaning: 'only with this address' } },
};

const portgroups: Resource = {
  words: 'portgroup',
  operand: 'PORTGROUP',
  path: '/v1/portgroups',
  key: 'portgroups',
  columns: ['uuid', 'name', 'address', 'mode', 'node_uuid'],
  filters: { node: nodeFilter },
};

async function nodeUuid(context: CommandContext, name: string): Promise<unknown> {
  const ident = encodeURIComponent(name);
  const node = await context.client.call('GET', `/v1/nodes/${ident}?fields=uuid`);
  if (!node) throw noNode(ident);
  return node['uuid'];
}

/** Makes something that belongs to a node; `first` is the field that the first operand is. */
function createCommand(resource: Resource, first: 'address' | 'name', operand: string, meaning: string): Command {
  return {
    words: `${resource.words} create`,
    operands: [operand, '[FIELD=VALUE...]'],
    options: { node: { value: 'NODE', required: 'whose it is', meaning: 'whose it is' } },
    meaning,
    details: assignmentHelp,
    run: async (context, input) => {
      const [value, ...assignments] = input.operands;
      const node = requiredOption(input, 'node');
      const fields = toObject(await readAssignments(assignments));
      const body: Json = { [first]: value, ...fields, node_uuid: await nodeUuid(context, node) };
      const made = (await context.client.call('POST', resource.path, body)) ?? {};
      print(context, input, { json: made, text: `${resource.words} ${cell(made['uuid'])} created\n` });
    },
  };
}

export const portCommands: readonly Command[] = [
  listCommand(ports, 'network ports of nodes'),
  showCommand(ports, 'everything about a port'),
  createCommand(ports, 'address', 'MAC', 'add a network port to a node'),
  setCommand(ports, 'change fields of a port'),
  deleteCommand(ports, 'forget ports'),
  listCommand(portgroups, 'port groups (bonds) of nodes'),
  showCommand(portgroups, 'everything about a port group'),
  createCommand(portgroups, 'name', 'NAME', 'add a port group to a node; ports join it by portgroup_uuid=…'),
  deleteCommand(portgroups, 'forget port groups'),
];
