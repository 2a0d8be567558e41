import { type FileHandle, open, rm } from 'node:fs/promises';
import type { DriverAnswer } from '#conductor/api/node-parts.ts';
import type { ConductorAnswer, TokenAnswer, WebhookAnswer, WebhookDeliveryAnswer } from '#conductor/api/records.ts';
import { callFor, listAll, readList, withQuery } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  type DatabaseTool,
  listOption,
  numberOption,
  pathOperand,
  requiredOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { readInputFile } from '#conductor/cli/shell/input-files.ts';
import { cell, columnsOf, print, table } from '#conductor/cli/shell/print.ts';
import { deleteCommand, type Resource, setCommand } from '#conductor/cli/shell/resource-commands.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { AppError } from '#shared/errors/app-error.ts';

const conductorList: Command = {
  words: 'conductor list',
  meaning: 'conductors, their groups, and whether they are alive',
  run: async (context, input) => {
    const query = { fields: 'hostname,conductor_group,alive,drivers,updated_at' };
    const conductors = await listAll<ConductorAnswer>(
      context.client,
      { path: '/v1/conductors', key: 'conductors' },
      query,
    );
    const rows = conductors.map((each) => [
      cell(each.hostname),
      cell(each.conductor_group || '-'),
      each.alive ? 'alive' : 'dead',
      cell(each.updated_at),
      (each.drivers ?? []).join(', '),
    ]);
    const text = table([['name', 'group', 'alive', 'last seen', 'drivers'], ...rows]);
    print(context, input, { json: conductors.map(({ links: _links, ...rest }) => rest), text });
  },
};

const driverList: Command = {
  words: 'driver list',
  meaning: 'drivers, and the conductors that have them',
  run: async (context, input) => {
    const drivers = await readList<DriverAnswer>(context.client, '/v1/drivers', 'drivers');
    const json = drivers.map(({ name, hosts }) => ({ name, hosts }));
    const rows = json.map(({ name, hosts }) => [cell(name), (hosts ?? []).join(', ')]);
    print(context, input, { json, text: table([['driver', 'conductors'], ...rows]) });
  },
};

export const conductorCommands: readonly Command[] = [conductorList, driverList];

async function requireTool({ databaseTool }: CommandContext): Promise<DatabaseTool> {
  if (databaseTool !== undefined) return databaseTool();
  throw new AppError('not_supported', 'this program speaks to conductors only: run baton of the conductor on its host');
}

const settings =
  'It works on the database itself, as DATABASE_URL or BATON_DATA_DIR says: run it on the host and with the settings of\n' +
  'the conductor. The package takes them from /etc/baton/baton.env.';

export const databaseCommands: readonly Command[] = [
  {
    words: 'database dump',
    operands: ['FILE'],
    meaning: 'back up the database into a new file, also while conductors work',
    details: `${settings} Back up the key file too, apart from it: passwords in the dump are sealed with it.`,
    offline: true,
    run: async (context, input) => {
      const [file = ''] = input.operands;
      const { keyFile } = await (await requireTool(context)).dump(file);
      const keys = keyFile ?? "its conductors' key file (BATON_SECRET_KEY_FILE)";
      const text = `${file} has the database; it is of use only together with ${keys}\n`;
      print(context, input, { json: { file, key_file: keyFile }, text });
    },
  },
  {
    words: 'database restore',
    operands: ['FILE'],
    meaning: 'fill an empty database with a dump',
    details: `${settings} No conductor may run. Put the key file in its place before you start one.`,
    offline: true,
    run: async (context, input) => {
      const [file = ''] = input.operands;
      await (await requireTool(context)).restore(file);
      print(context, input, { json: { file }, text: `the database is restored from ${file}: start the conductor\n` });
    },
  },
];

const mostPort = 65_535;

export const demoCommand: Command = {
  words: 'demo',
  options: {
    nodes: { value: 'COUNT', meaning: 'simulated machines (default: 24)' },
    port: { value: 'PORT', meaning: 'of its conductor on 127.0.0.1 (default: the first free one from 6385 on)' },
  },
  meaning: 'a conductor with simulated machines and a site that is deployed onto them, until Ctrl-C',
  details:
    'It needs neither root nor hardware, and leaves nothing behind. The machines have Redfish BMCs and the real agent.',
  offline: true,
  run: async (context, input) => {
    if (context.runDemo === undefined) {
      throw new AppError(
        'not_supported',
        'this program has no conductor: run baton of a clone or of the Debian package',
      );
    }
    const nodes = numberOption(input, 'nodes');
    const port = numberOption(input, 'port');
    if (port !== undefined && port > mostPort) throw usageError(`--port: it must be ${mostPort} or less`);
    const args = Object.entries({ nodes, port }).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}=${value}`],
    );
    const exitCode = await context.runDemo(args);
    if (exitCode !== 0) throw new AppError('command_failed', `the demo exited with ${exitCode}`);
  },
};

const tokens: Resource = {
  words: 'token',
  operand: 'TOKEN',
  path: '/v1/tokens',
  key: 'tokens',
  columns: ['name', 'role', 'project', 'created_by', 'expires_at', 'last_used_at'],
};

async function listTokens(context: CommandContext, input: CommandInput): Promise<void> {
  const rows = await readList<TokenAnswer>(context.client, tokens.path, tokens.key);
  print(context, input, { json: rows, text: columnsOf(rows, tokens.columns) });
}

const dayMs = 24 * 3600 * 1000;

/** A number of days, or a time as it is. */
function expiry(text: string | undefined, now: Date): string | undefined {
  if (text === undefined || !/^\d+$/.test(text)) return text;
  return new Date(now.getTime() + Number(text) * dayMs).toISOString();
}

async function createToken(context: CommandContext, input: CommandInput): Promise<void> {
  const role = requiredOption(input, 'role');
  const body = {
    name: input.operands[0],
    role,
    project: textOption(input, 'project'),
    expires_at: expiry(textOption(input, 'expires'), context.clock.now()),
  };
  const file = textOption(input, 'file');
  const handle = file === undefined ? undefined : await openNew(file);
  try {
    const { token, ...made } = (await context.client.call('POST', tokens.path, body)) ?? {};
    await handle?.writeFile(`${cell(token)}\n`);
    if (handle) print(context, input, { json: { ...made, file }, text: `token ${cell(made['name'])} is in ${file}\n` });
    else print(context, input, { json: { ...made, token }, text: `${cell(token)}\n` });
  } catch (error) {
    if (file !== undefined) await rm(file, { force: true });
    throw error;
  } finally {
    await handle?.close();
  }
}

/** Before the token is made: it is shown once. A file that is there already may be readable to others. */
function openNew(file: string): Promise<FileHandle> {
  return open(file, 'wx', 0o600).catch((cause: unknown) => {
    throw usageError(`--file: make ${file}`, { cause });
  });
}

export const tokenCommands: readonly Command[] = [
  { words: 'token list', meaning: 'API tokens with their names, roles and last use', run: listTokens },
  {
    words: 'token create',
    operands: ['NAME'],
    options: {
      role: { value: 'ROLE', required: 'admin, member or reader', meaning: 'admin, member or reader' },
      project: { value: 'PROJECT', meaning: 'sees and touches only what this owner or lessee has' },
      expires: {
        value: 'DAYS|TIME',
        meaning: 'after this many days, or at a time like 2027-01-31T12:00:00Z; default: never',
      },
      file: { value: 'FILE', meaning: 'a new file for it, for BATON_TOKEN_FILE; default: standard output' },
    },
    meaning: 'create an API token; it is shown only once',
    run: createToken,
  },
  deleteCommand(tokens, 'revoke tokens'),
];

const webhooks: Resource = {
  words: 'webhook',
  operand: 'WEBHOOK',
  path: '/v1/webhooks',
  key: 'webhooks',
  columns: ['name', 'url', 'events', 'project'],
};
const deliveryColumns = ['id', 'created_at', 'event_type', 'state', 'attempts', 'last_status', 'last_error'];

async function listWebhooks(context: CommandContext, input: CommandInput): Promise<void> {
  const rows = await readList<WebhookAnswer>(context.client, webhooks.path, webhooks.key);
  const shown = rows.map((row) => ({ ...row, events: row.events.join(',') || 'all' }));
  print(context, input, { json: rows, text: columnsOf(shown, webhooks.columns) });
}

async function createWebhook(context: CommandContext, input: CommandInput): Promise<void> {
  const [name, url] = input.operands;
  const file = textOption(input, 'secret-file');
  const secret = file === undefined ? undefined : (await readInputFile('--secret-file', file)).trim();
  const body = { name, url, events: listOption(input, 'event'), secret, project: textOption(input, 'project') };
  const made = (await context.client.call('POST', webhooks.path, body)) ?? {};
  const secretLine =
    secret === undefined ? `\nits signatures are made with ${cell(made['secret'])}, which is shown this once` : '';
  print(context, input, { json: made, text: `webhook ${cell(made['name'])} created${secretLine}\n` });
}

async function testWebhook(context: CommandContext, input: CommandInput): Promise<void> {
  const outcome = (await context.client.call('POST', `${webhooks.path}/${pathOperand(input)}/test`)) ?? {};
  if (outcome['delivered'] !== true) {
    throw new AppError('command_failed', `webhook ${input.operands[0]}: not delivered: ${cell(outcome['error'])}`);
  }
  print(context, input, { json: outcome, text: `webhook ${input.operands[0]}: delivered\n` });
}

async function listDeliveries(context: CommandContext, input: CommandInput): Promise<void> {
  const path = `${webhooks.path}/${pathOperand(input)}/deliveries`;
  const query = withQuery(path, { state: textOption(input, 'state') });
  const answer = await callFor<{ readonly deliveries: readonly WebhookDeliveryAnswer[] }>(context.client, 'GET', query);
  if (!answer) throw new AppError('not_found', `Webhook ${input.operands[0]} could not be found.`);
  const rows = answer.deliveries;
  print(context, input, { json: rows, text: columnsOf(rows, deliveryColumns) });
}

export const webhookCommands: readonly Command[] = [
  { words: 'webhook list', meaning: 'webhooks: who is notified of which events', run: listWebhooks },
  {
    words: 'webhook create',
    operands: ['NAME', 'URL'],
    options: {
      event: { value: 'EVENT', repeats: true, meaning: 'only these; default: all' },
      project: { value: 'PROJECT', meaning: 'only of nodes that it owns or leases' },
      'secret-file': { value: 'FILE', meaning: 'with the secret to sign with; default: one is made' },
    },
    meaning: 'notify a URL of events',
    run: createWebhook,
  },
  setCommand(webhooks, "change a webhook's fields"),
  { words: 'webhook test', operands: ['WEBHOOK'], meaning: 'send an event now', run: testWebhook },
  {
    words: 'webhook deliveries',
    operands: ['WEBHOOK'],
    options: { state: { value: 'STATE', meaning: 'only pending, delivered or given up' } },
    meaning: 'what was sent, and what waits; the newest first',
    run: listDeliveries,
  },
  deleteCommand(webhooks, 'delete webhooks and their undelivered events'),
];
