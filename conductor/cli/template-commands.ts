import type { Json } from '#conductor/cli/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandOption,
  pathOperand,
  requiredOption,
} from '#conductor/cli/command.ts';
import { cell, print, table } from '#conductor/cli/print.ts';
import { readSteps } from '#conductor/cli/read-input-file.ts';
import { AppError } from '#shared/errors/app-error.ts';

const path = '/v1/deploy_templates';
const stepsOption: CommandOption = {
  value: 'FILE',
  required: 'what a deploy does for this trait',
  meaning: 'JSON or YAML: a list of {interface, step, args, priority}',
};

function stepsText(steps: unknown): string {
  const rows = (steps as Json[]).map((step) => [
    cell(step['priority']),
    `${cell(step['interface'])}.${cell(step['step'])}`,
    cell(step['args']),
  ]);
  return table([['prio', 'step', 'args'], ...rows]);
}

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const answer = await context.client.call('GET', `${path}?detail=true`);
  const templates = (answer?.['deploy_templates'] ?? []) as Json[];
  const rows = templates.map((template) => [
    cell(template['uuid']),
    cell(template['name']),
    (template['steps'] as Json[]).map((step) => `${cell(step['interface'])}.${cell(step['step'])}`).join(', '),
  ]);
  print(context, input, { json: templates, text: table([['uuid', 'name', 'steps'], ...rows]) });
}

async function show(context: CommandContext, input: CommandInput): Promise<void> {
  const template = await context.client.call('GET', `${path}/${pathOperand(input)}`);
  if (!template) throw new AppError('not_found', `Deploy template ${input.operands[0]} could not be found.`);
  const head = `${cell(template['name'])} (${cell(template['uuid'])})\n`;
  print(context, input, { json: template, text: `${head}${stepsText(template['steps'])}` });
}

async function create(context: CommandContext, input: CommandInput): Promise<void> {
  const body = { name: input.operands[0], steps: await requiredSteps(input) };
  const template = (await context.client.call('POST', path, body)) ?? {};
  print(context, input, { json: template, text: `deploy template ${cell(template['name'])} created\n` });
}

async function change(context: CommandContext, input: CommandInput): Promise<void> {
  const patch = [{ op: 'replace', path: '/steps', value: await requiredSteps(input) }];
  const template = (await context.client.call('PATCH', `${path}/${pathOperand(input)}`, patch)) ?? {};
  print(context, input, { json: template, text: `deploy template ${cell(template['name'])} changed\n` });
}

async function remove(context: CommandContext, input: CommandInput): Promise<void> {
  await context.client.call('DELETE', `${path}/${pathOperand(input)}`);
  const name = input.operands[0] ?? '';
  print(context, input, { json: { deleted: name }, text: `deploy template ${name} deleted\n` });
}

function requiredSteps(input: CommandInput): Promise<unknown[]> {
  return readSteps('--steps', requiredOption(input, 'steps'), 'steps');
}

export const templateCommands: readonly Command[] = [
  { words: 'template list', meaning: 'deploy templates', run: list },
  { words: 'template show', operands: ['NAME'], meaning: 'a deploy template with its steps', run: show },
  {
    words: 'template create',
    operands: ['NAME'],
    options: { steps: stepsOption },
    meaning: 'prepare steps under the name of a trait',
    details: 'A deploy gets them when the trait, CUSTOM_…, is among instance_info.traits and the node has it.',
    run: create,
  },
  {
    words: 'template set',
    operands: ['NAME'],
    options: { steps: stepsOption },
    meaning: 'give a deploy template other steps',
    run: change,
  },
  { words: 'template delete', operands: ['NAME'], meaning: 'forget a deploy template', run: remove },
];
