import { type Command, flagOption, requiredOption } from '#conductor/cli/command.ts';
import { cell, print } from '#conductor/cli/print.ts';
import { readSteps } from '#conductor/cli/read-input-file.ts';
import {
  deleteCommand,
  listCommand,
  type Resource,
  setCommand,
  showCommand,
} from '#conductor/cli/resource-commands.ts';

const runbooks: Resource = {
  words: 'runbook',
  operand: 'RUNBOOK',
  path: '/v1/runbooks',
  key: 'runbooks',
  columns: ['uuid', 'name', 'public', 'owner'],
};

const create: Command = {
  words: 'runbook create',
  operands: ['NAME'],
  options: {
    steps: {
      value: 'FILE',
      required: 'what it does',
      meaning: 'JSON or YAML: a list of {interface, step, args, order}; the lowest order runs first',
    },
    public: { meaning: 'for every project' },
    'disable-ramdisk': { meaning: 'its steps need no ramdisk' },
  },
  meaning: 'write down steps for nodes with the trait NAME, CUSTOM_…',
  run: async (context, input) => {
    const body = {
      name: input.operands[0],
      steps: await readSteps('--steps', requiredOption(input, 'steps'), 'steps'),
      ...(flagOption(input, 'public') ? { public: true } : {}),
      ...(flagOption(input, 'disable-ramdisk') ? { disable_ramdisk: true } : {}),
    };
    const runbook = (await context.client.call('POST', runbooks.path, body)) ?? {};
    print(context, input, { json: runbook, text: `runbook ${cell(runbook['name'])} created\n` });
  },
};

export const runbookCommands: readonly Command[] = [
  listCommand(runbooks, 'runbooks: steps for baton clean and service'),
  showCommand(runbooks, 'a runbook with its steps'),
  create,
  setCommand(runbooks, 'change a runbook'),
  deleteCommand(runbooks, 'forget runbooks'),
];
