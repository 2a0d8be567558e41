import { type Command, requiredOption, usageError } from '#conductor/cli/command.ts';
import { cell, print } from '#conductor/cli/print.ts';
import { readDocument } from '#conductor/cli/read-input-file.ts';
import {
  deleteCommand,
  listCommand,
  type Resource,
  setCommand,
  showCommand,
} from '#conductor/cli/resource-commands.ts';

const rules: Resource = {
  words: 'inspection rule',
  operand: 'UUID',
  path: '/v1/inspection_rules',
  key: 'inspection_rules',
  columns: ['uuid', 'description', 'priority', 'sensitive'],
};

const create: Command = {
  words: 'inspection rule create',
  options: {
    file: {
      value: 'FILE',
      required: 'the rule',
      meaning: "JSON or YAML: {description, priority, sensitive, conditions, actions}, as Ironic's",
    },
  },
  meaning: 'have inspections change what they find of nodes',
  run: async (context, input) => {
    const file = requiredOption(input, 'file');
    const rule = await readDocument('--file', file);
    if (typeof rule !== 'object' || rule === null || Array.isArray(rule))
      throw usageError(`--file: ${file}: it must be one rule, an object`);
    const made = (await context.client.call('POST', rules.path, rule)) ?? {};
    print(context, input, { json: made, text: `inspection rule ${cell(made['uuid'])} created\n` });
  },
};

export const inspectionRuleCommands: readonly Command[] = [
  listCommand(rules, 'inspection rules'),
  showCommand(rules, 'an inspection rule; of a sensitive one not what it does'),
  create,
  setCommand(rules, 'change an inspection rule'),
  deleteCommand(rules, 'forget inspection rules'),
];
