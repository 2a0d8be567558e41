import type { Json } from '#conductor/cli/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  listOption,
  pathOperand,
  textOption,
} from '#conductor/cli/command.ts';
import { cell, print, table } from '#conductor/cli/print.ts';
import { readInputFile } from '#conductor/cli/read-input-file.ts';
import { deleteCommand, type Resource, setCommand } from '#conductor/cli/resource-commands.ts';
import { AppError } from '#shared/errors/app-error.ts';

const webhooks: Resource = {
  words: 'webhook',
  operand: 'WEBHOOK',
  path: '/v1/webhooks',
  key: 'webhooks',
  columns: ['name', 'url', 'events', 'project'],
};
const deliveryColumns = ['id', 'created_at', 'event_type', 'state', 'attempts', 'last_status', 'last_error'];

function rowsOf(rows: readonly Json[], columns: readonly string[]): string {
  return table([[...columns], ...rows.map((row) => columns.map((name) => cell(row[name])))]);
}

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const rows = ((await context.client.call('GET', webhooks.path))?.[webhooks.key] ?? []) as Json[];
  const shown = rows.map((row) => ({ ...row, events: ((row['events'] ?? []) as string[]).join(',') || 'all' }));
  print(context, input, { json: rows, text: rowsOf(shown, webhooks.columns) });
}

async function create(context: CommandContext, input: CommandInput): Promise<void> {
  const [name, url] = input.operands;
  const file = textOption(input, 'secret-file');
  const secret = file === undefined ? undefined : (await readInputFile('--secret-file', file)).trim();
  const body = { name, url, events: listOption(input, 'event'), secret, project: textOption(input, 'project') };
  const made = (await context.client.call('POST', webhooks.path, body)) ?? {};
  const secretLine =
    secret === undefined ? `\nits signatures are made with ${cell(made['secret'])}, which is shown this once` : '';
  print(context, input, { json: made, text: `webhook ${cell(made['name'])} created${secretLine}\n` });
}

async function test(context: CommandContext, input: CommandInput): Promise<void> {
  const outcome = (await context.client.call('POST', `${webhooks.path}/${pathOperand(input)}/test`)) ?? {};
  if (outcome['delivered'] !== true) {
    throw new AppError('command_failed', `webhook ${input.operands[0]}: not delivered: ${cell(outcome['error'])}`);
  }
  print(context, input, { json: outcome, text: `webhook ${input.operands[0]}: delivered\n` });
}

async function deliveries(context: CommandContext, input: CommandInput): Promise<void> {
  const state = textOption(input, 'state');
  const query = state === undefined ? '' : `?state=${encodeURIComponent(state)}`;
  const answer = await context.client.call('GET', `${webhooks.path}/${pathOperand(input)}/deliveries${query}`);
  if (!answer) throw new AppError('not_found', `Webhook ${input.operands[0]} could not be found.`);
  const rows = answer['deliveries'] as Json[];
  print(context, input, { json: rows, text: rowsOf(rows, deliveryColumns) });
}

export const webhookCommands: readonly Command[] = [
  { words: 'webhook list', meaning: 'who is notified of what happens to nodes', run: list },
  {
    words: 'webhook create',
    operands: ['NAME', 'URL'],
    options: {
      event: { value: 'EVENT', repeats: true, meaning: 'only these; default: all' },
      project: { value: 'PROJECT', meaning: 'only of nodes that it owns or leases' },
      'secret-file': { value: 'FILE', meaning: 'with the secret to sign with; default: one is made' },
    },
    meaning: 'notify a URL of what happens to nodes',
    run: create,
  },
  setCommand(webhooks, "change a webhook's fields"),
  { words: 'webhook test', operands: ['WEBHOOK'], meaning: 'send an event now', run: test },
  {
    words: 'webhook deliveries',
    operands: ['WEBHOOK'],
    options: { state: { value: 'STATE', meaning: 'only pending, delivered or given up' } },
    meaning: 'what was sent, and what waits; the newest first',
    run: deliveries,
  },
  deleteCommand(webhooks, 'forget webhooks, and what waits to be delivered to them'),
];
