import type { NodeNetworkAnswer } from '#conductor/api/node-parts.ts';
import { getNode, type Json, noNode, readOfNode } from '#conductor/cli/shell/api-client.ts';
import { assignmentHelp, readAssignments, toObject } from '#conductor/cli/shell/assignments.ts';
import { type Command, pathOperand, requiredOption } from '#conductor/cli/shell/command.ts';
import { describeSwitchPort } from '#conductor/cli/shell/describe-switch-port.ts';
import { onNodes } from '#conductor/cli/shell/on-nodes.ts';
import { cell, print, table } from '#conductor/cli/shell/print.ts';
import { recordCommand } from '#conductor/cli/shell/record-command.ts';
import {
  deleteCommand,
  listCommand,
  type Resource,
  setCommand,
  showCommand,
} from '#conductor/cli/shell/resource-commands.ts';

const nodeFilter = { query: 'node', value: 'NODE', meaning: 'only of this node' };

const ports: Resource = {
  words: 'port',
  operand: 'PORT',
  path: '/v1/ports',
  key: 'ports',
  columns: ['uuid', 'address', 'node_uuid', 'pxe_enabled', 'physical_network', 'category', 'portgroup_uuid'],
  filters: { node: nodeFilter, address: { query: 'address', value: 'MAC', meaning: 'only with this address' } },
};

const portgroups: Resource = {
  words: 'portgroup',
  operand: 'PORTGROUP',
  path: '/v1/portgroups',
  key: 'portgroups',
  columns: ['uuid', 'name', 'address', 'mode', 'physical_network', 'category', 'node_uuid'],
  filters: { node: nodeFilter },
};

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
      const fields = toObject(await readAssignments(assignments));
      const node = await getNode(context.client, encodeURIComponent(requiredOption(input, 'node')), ['uuid']);
      const body: Json = { [first]: value, ...fields, node_uuid: node.uuid };
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
  deleteCommand(ports, 'delete ports'),
  listCommand(portgroups, 'port groups (bonds) of nodes'),
  showCommand(portgroups, 'everything about a port group'),
  createCommand(portgroups, 'name', 'NAME', 'add a port group to a node; ports join it by portgroup_uuid=…'),
  deleteCommand(portgroups, 'delete port groups'),
];

export const networkCommands: readonly Command[] = [
  recordCommand({
    words: 'network record',
    operand: 'SWITCH',
    path: '/v1/switches',
    meaning: 'record what a switch prints when Baton reads it, to be sent when it is read wrongly',
    details:
      'Logs in to the switch (its switch_id in the networks file) and runs what its driver reads with, its version and LLDP; changes nothing. ',
  }),
  onNodes(
    {
      words: 'network diff',
      operands: ['NODE'],
      meaning: "nodes' switch ports as Baton has set them, as their switches have them now, and what would repair them",
      details: 'Reads the switches; changes nothing.',
      run: async (context, input) => {
        const path = '/network?look=true';
        const { ports } = await readOfNode<NodeNetworkAnswer>(context.client, pathOperand(input), path);
        const rows = ports.map((port) => [
          port.address,
          `${port.switch_id} ${port.port_id}`,
          port.network ?? '-',
          describeSwitchPort(port.wanted, port.wanted_bond) ?? 'by Neutron',
          port.error === null
            ? (describeSwitchPort(port.found, port.found_bond) ?? (port.differs ? 'differs' : '-'))
            : `not read: ${cell(port.error)}`,
        ]);
        const differences = ports.flatMap((port) => port.differences.map((each) => `${port.address}: ${each}`));
        const commands = ports.flatMap((port) => port.commands.map((command) => `  ${command}`));
        const shown = table([['port', 'switch port', 'network', 'set to', 'found'], ...rows]);
        const described = differences.length === 0 ? [] : ['', ...differences];
        const repair = commands.length === 0 ? [] : ['', 'A repair would send:', ...commands];
        print(context, input, {
          json: ports,
          text: [shown.trimEnd(), ...described, ...repair, ''].join('\n'),
        });
      },
    },
    { reads: true },
  ),
  onNodes({
    words: 'network repair',
    operands: ['NODE'],
    meaning: "set a node's switch ports again as Baton set them last",
    run: async (context, input) => {
      const node = pathOperand(input);
      if (!(await context.client.call('POST', `/v1/nodes/${node}/network/repair`))) throw noNode(node);
      const name = decodeURIComponent(node);
      const { ports } = await readOfNode<NodeNetworkAnswer>(context.client, node, '/network');
      const outcome =
        ports.length === 0
          ? 'Baton has set no switch ports of it: nothing was repaired'
          : 'switch ports are as Baton has set them';
      print(context, input, { json: { node: name }, text: `node ${name}: ${outcome}\n` });
    },
  }),
];
