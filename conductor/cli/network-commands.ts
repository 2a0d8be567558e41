import type { NodeSwitchPort } from '#conductor/api/node-network.ts';
import { type Command, pathOperand } from '#conductor/cli/command.ts';
import { noNode } from '#conductor/cli/get-node.ts';
import { cell, print, table } from '#conductor/cli/print.ts';
import { describeVlans, portVlans } from '#conductor/model/port-vlans.ts';

export const networkCommands: readonly Command[] = [
  {
    words: 'network diff',
    operands: ['NODE'],
    meaning: "a node's switch ports as Baton has set them, as their switches have them now, and what would repair them",
    details: 'Reads the switches; changes nothing.',
    run: async (context, input) => {
      const answer = await context.client.call('GET', `/v1/nodes/${pathOperand(input)}/network?look=true`);
      if (!answer) throw noNode(pathOperand(input));
      const ports = answer['ports'] as NodeSwitchPort[];
      const rows = ports.map((port) => [
        port.address,
        `${port.switch_id} ${port.port_id}`,
        port.network ?? '-',
        describe(port.wanted, port.wanted_bond),
        port.error === null ? describe(port.found, port.found_bond) : `not read: ${cell(port.error)}`,
      ]);
      const commands = ports.flatMap((port) => port.commands.map((command) => `  ${command}`));
      const repair = commands.length === 0 ? [] : ['', 'A repair would send:', ...commands];
      print(context, input, {
        json: ports,
        text: [table([['port', 'switch port', 'network', 'set to', 'found'], ...rows]), ...repair].join('\n'),
      });
    },
  },
  {
    words: 'network repair',
    operands: ['NODE'],
    meaning: "put a node's switch ports back where Baton has set them last",
    run: async (context, input) => {
      const node = pathOperand(input);
      if (!(await context.client.call('POST', `/v1/nodes/${node}/network/repair`))) throw noNode(node);
      const name = decodeURIComponent(node);
      print(context, input, { json: { node: name }, text: `node ${name}: switch ports are as Baton has set them\n` });
    },
  },
];

function describe(vlans: NodeSwitchPort['found'], bond: string | null): string {
  if (vlans === null) return '-';
  const text = describeVlans(vlans === 'other' ? vlans : portVlans(vlans.untagged ?? undefined, vlans.tagged));
  return bond === null ? text : `${text} in ${bond}`;
}
