import type { DeployTemplateAnswer } from '#conductor/api/templates.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { callFor, readList } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandOption,
  flagOption,
  pathOperand,
  requiredOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { readDocument, readSteps } from '#conductor/cli/shell/input-files.ts';
import { cell, print, table } from '#conductor/cli/shell/print.ts';
import {
  deleteCommand,
  listCommand,
  type Resource,
  setCommand,
  showCommand,
} from '#conductor/cli/shell/resource-commands.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { TraitName } from '#conductor/model/trait-name.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

const path = '/v1/deploy_templates';
const stepsOption: CommandOption = {
  value: 'FILE',
  required: 'what a deploy does for this trait',
  meaning: 'JSON or YAML: a list of {interface, step, args, priority}',
};

function stepsText(steps: DeployTemplateAnswer['steps'] = []): string {
  const rows = steps.map((step) => [cell(step.priority), `${step.interface}.${step.step}`, cell(step.args)]);
  return table([['prio', 'step', 'args'], ...rows]);
}

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const templates = await readList<DeployTemplateAnswer>(context.client, `${path}?detail=true`, 'deploy_templates');
  const rows = templates.map(({ uuid, name, steps = [] }) => [
    cell(uuid),
    cell(name),
    steps.map((step) => `${step.interface}.${step.step}`).join(', '),
  ]);
  print(context, input, { json: templates, text: table([['uuid', 'name', 'steps'], ...rows]) });
}

async function show(context: CommandContext, input: CommandInput): Promise<void> {
  const template = await callFor<DeployTemplateAnswer>(context.client, 'GET', `${path}/${pathOperand(input)}`);
  if (!template) throw new AppError('not_found', `Deploy template ${input.operands[0]} could not be found.`);
  const head = `${cell(template.name)} (${cell(template.uuid)})\n`;
  print(context, input, { json: template, text: `${head}${stepsText(template.steps)}` });
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
    meaning: 'create a deploy template: steps for nodes deployed with the trait NAME',
    details: 'A deploy gets them when the trait, CUSTOM_…, is among instance_info.traits and the node has it.',
    run: create,
  },
  {
    words: 'template set',
    operands: ['NAME'],
    options: { steps: stepsOption },
    meaning: 'change the steps of a deploy template',
    run: change,
  },
  { words: 'template delete', operands: ['NAME'], meaning: 'delete a deploy template', run: remove },
];

const runbooks: Resource = {
  words: 'runbook',
  operand: 'RUNBOOK',
  path: '/v1/runbooks',
  key: 'runbooks',
  columns: ['uuid', 'name', 'description', 'traits', 'public', 'owner'],
};

const createRunbook: Command = {
  words: 'runbook create',
  operands: ['NAME'],
  options: {
    steps: {
      value: 'FILE',
      required: 'what it does',
      meaning: 'JSON or YAML: a list of {interface, step, args, order}; the lowest order runs first',
    },
    trait: { value: 'TRAIT', meaning: 'for nodes with this trait; default: NAME, where it is one' },
    public: { meaning: 'for every project' },
    'disable-ramdisk': { meaning: 'its steps need no ramdisk' },
  },
  meaning: 'write down steps for nodes with a trait',
  run: async (context, input) => {
    const body = {
      name: input.operands[0],
      steps: await readSteps('--steps', requiredOption(input, 'steps'), 'steps'),
      ...(flagOption(input, 'public') ? { public: true } : {}),
      ...(flagOption(input, 'disable-ramdisk') ? { disable_ramdisk: true } : {}),
    };
    const given = textOption(input, 'trait');
    const trait = given ?? body.name;
    const runbook = (await context.client.call('POST', runbooks.path, body)) ?? {};
    if (trait !== undefined && (given !== undefined || TraitName.safeParse(trait).success))
      await context.client.call('PUT', `${runbooks.path}/${cell(runbook['uuid'])}/traits/${encodeURIComponent(trait)}`);
    print(context, input, { json: runbook, text: `runbook ${cell(runbook['name'])} created\n` });
  },
};

export const runbookCommands: readonly Command[] = [
  listCommand(runbooks, 'runbooks: steps for baton clean and service'),
  showCommand(runbooks, 'a runbook with its steps'),
  createRunbook,
  setCommand(runbooks, 'change a runbook'),
  deleteCommand(runbooks, 'delete runbooks'),
];

const rules: Resource = {
  words: 'inspection rule',
  operand: 'UUID',
  path: '/v1/inspection_rules',
  key: 'inspection_rules',
  columns: ['uuid', 'description', 'priority', 'sensitive'],
};

const createRule: Command = {
  words: 'inspection rule create',
  options: {
    file: {
      value: 'FILE',
      required: 'the rules',
      meaning: "JSON or YAML: {description, priority, sensitive, conditions, actions}, as Ironic's, or a list of them",
    },
  },
  meaning: 'create rules that change nodes as they are inspected',
  run: async (context, input) => {
    const file = requiredOption(input, 'file');
    const document = await readDocument('--file', file);
    const given: readonly unknown[] = Array.isArray(document) ? document : [document];
    if (given.length === 0 || !given.every((rule) => typeof rule === 'object' && rule !== null && !Array.isArray(rule)))
      throw usageError(`--file: ${file}: it must be a rule, an object, or a list of rules`);
    const made: Json[] = [];
    for (const [at, rule] of given.entries()) {
      const asked = context.client.call('POST', rules.path, rule);
      made.push((await (given.length === 1 ? asked : asked.catch(refusedAt(file, at)))) ?? {});
    }
    const text = made.map(({ uuid }) => `inspection rule ${cell(uuid)} created\n`).join('');
    print(context, input, { json: Array.isArray(document) ? made : made[0], text });
  },
};

const refusedAt = (file: string, at: number) => (cause: unknown) => {
  const before = at === 0 ? 'none is created' : `the ${at} before it ${at === 1 ? 'is' : 'are'} created`;
  throw new AppError(errorCode(cause), `--file: ${file}: rule ${at + 1} of the list is refused, ${before}`, { cause });
};

export const inspectionRuleCommands: readonly Command[] = [
  listCommand(rules, 'inspection rules'),
  showCommand(rules, 'an inspection rule; of a sensitive one not what it does'),
  createRule,
  setCommand(rules, 'change an inspection rule'),
  deleteCommand(rules, 'delete inspection rules'),
];
