import type { Command } from '#conductor/cli/command.ts';
import {
  deleteCommand,
  listCommand,
  type Resource,
  setCommand,
  showCommand,
} from '#conductor/cli/resource-commands.ts';

const allocations: Resource = {
  words: 'allocation',
  operand: 'ALLOCATION',
  path: '/v1/allocations',
  key: 'allocations',
  columns: ['uuid', 'name', 'resource_class', 'state', 'node_uuid', 'owner'],
  filters: {
    state: { query: 'state', value: 'STATE', meaning: 'only allocating, active or error' },
    class: { query: 'resource_class', value: 'CLASS', meaning: 'only of this resource class' },
    node: { query: 'node', value: 'NODE', meaning: 'only of this node' },
    owner: { query: 'owner', value: 'PROJECT', meaning: 'only of this owner' },
  },
};

export const allocationCommands: readonly Command[] = [
  listCommand(allocations, 'allocations'),
  showCommand(allocations, 'everything about an allocation'),
  setCommand(allocations, "change an allocation's name or extra"),
  deleteCommand(allocations, 'give nodes back that have no instance'),
];
