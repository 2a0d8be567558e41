import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { ApiClient, Json } from '#conductor/cli/api-client.ts';
import { type Screen, watchFlow } from '#conductor/cli/watch-flow.ts';
import { describeSettings } from '#conductor/config.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface CommandContext {
  readonly client: ApiClient;
  readonly screen: Screen;
  readonly clock: Clock;
}

interface Command {
  /** `node show NODE`: words, then what they take. */
  readonly usage: string;
  readonly meaning: string;
  run(context: CommandContext, args: string[]): Promise<void>;
}

const nodeColumns = [
  'uuid',
  'name',
  'provision_state',
  'target_provision_state',
  'power_state',
  'maintenance',
] as const;

/** THE table of commands; the first words of the usage select one. */
export const commands: readonly Command[] = [
  { usage: 'node list', meaning: 'nodes with their states', run: listNodes },
  { usage: 'node show NODE', meaning: 'everything about a node, as JSON', run: showNode },
  { usage: 'node watch NODE', meaning: 'the flow under way, live, until it rests', run: watchNode },
  {
    usage: 'deploy NODE --image URL [--checksum HEX|URL] [--config-drive FILE] [--wait]',
    meaning: 'write an image to an available node (sha256 or sha512, told by its length)',
    run: deploy,
  },
  { usage: 'undeploy NODE [--wait]', meaning: 'take the instance away and clean', run: undeploy },
  { usage: 'settings', meaning: 'the conductor’s settings (environment), meaning and default', run: showSettings },
];

export function usage(): string {
  const width = Math.max(...commands.map((command) => command.usage.length));
  const lines = commands.map((command) => `  baton ${command.usage.padEnd(width)}  ${command.meaning}`);
  return ['usage:', ...lines, 'The conductor is found at BATON_URL (default http://127.0.0.1:6385).', ''].join('\n');
}

/** @throws AppError `invalid_argument` with the usage for an unknown command. */
export async function runCommand(context: CommandContext, args: readonly string[]): Promise<void> {
  for (const command of commands) {
    const words = command.usage.split(' ').filter((word) => /^[a-z]+$/.test(word));
    if (words.every((word, index) => args[index] === word)) {
      await command.run(context, args.slice(words.length));
      return;
    }
  }
  throw new AppError(
    'invalid_argument',
    args.length === 0 ? usage() : `no such command: ${args.join(' ')}\n${usage()}`,
  );
}

async function listNodes({ client, screen }: CommandContext): Promise<void> {
  const answer = await client.call('GET', `/v1/nodes?fields=${nodeColumns.join(',')}`);
  const rows = ((answer?.['nodes'] ?? []) as Json[]).map((node) => nodeColumns.map((name) => cell(node[name])));
  screen.write(table([[...nodeColumns], ...rows]));
}

async function showNode({ client, screen }: CommandContext, args: string[]): Promise<void> {
  const node = await getNode(client, nodeArgument(args));
  screen.write(`${JSON.stringify(node, undefined, 2)}\n`);
}

async function watchNode(context: CommandContext, args: string[]): Promise<void> {
  report(context.screen, await watchFlow(context.client, nodeArgument(args), context));
}

async function deploy(context: CommandContext, args: string[]): Promise<void> {
  const { values, positionals } = parse(args, {
    image: { type: 'string' },
    checksum: { type: 'string' },
    'config-drive': { type: 'string' },
    wait: { type: 'boolean' },
  });
  const ident = nodeArgument(positionals);
  if (typeof values['image'] === 'string') {
    const info = { image_source: values['image'], ...checksumInfo(values['checksum']) };
    await context.client.call(
      'PATCH',
      `/v1/nodes/${ident}`,
      Object.entries(info).map(([key, value]) => ({ op: 'add', path: `/instance_info/${key}`, value })),
    );
  }
  const file = values['config-drive'];
  const configdrive = typeof file === 'string' ? await readConfigDrive(file) : undefined;
  await provision(
    context,
    ident,
    { target: 'active', ...(configdrive === undefined ? {} : { configdrive }) },
    values['wait'],
  );
}

async function undeploy(context: CommandContext, args: string[]): Promise<void> {
  const { values, positionals } = parse(args, { wait: { type: 'boolean' } });
  await provision(context, nodeArgument(positionals), { target: 'deleted' }, values['wait']);
}

function showSettings({ screen }: CommandContext): Promise<void> {
  screen.write(table(describeSettings().map((setting) => [setting.name, setting.default, setting.meaning])));
  return Promise.resolve();
}

async function provision(context: CommandContext, ident: string, body: Json, wait: unknown): Promise<void> {
  await context.client.call('PUT', `/v1/nodes/${ident}/states/provision`, body);
  if (wait === true) report(context.screen, await watchFlow(context.client, ident, context));
}

/** @throws AppError `command_failed` when the node rests where nobody wants it. */
function report(screen: Screen, node: Json): void {
  const state = cell(node['provision_state']);
  if (state.endsWith('failed') || state === 'error') {
    throw new AppError(
      'command_failed',
      `node ${cell(node['name'] ?? node['uuid'])} is in '${state}': ${cell(node['last_error'])}`,
    );
  }
  screen.write(`node ${cell(node['name'] ?? node['uuid'])} is ${state}\n`);
}

/** @throws AppError `invalid_argument` for hex digits of another length. */
function checksumInfo(checksum: unknown): Record<string, string> {
  if (typeof checksum !== 'string') return {};
  if (/^https?:/.test(checksum)) return { image_checksum: checksum };
  const algorithm = { 64: 'sha256', 128: 'sha512' }[checksum.length];
  if (!algorithm || !/^[0-9a-f]+$/i.test(checksum)) {
    throw new AppError('invalid_argument', '--checksum: it must be a URL, 64 hex digits (sha256) or 128 (sha512)');
  }
  return { image_os_hash_algo: algorithm, image_os_hash_value: checksum };
}

/** A JSON file `{meta_data, user_data, network_data}`, or the base64 text of a gzipped ISO. */
async function readConfigDrive(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new AppError('invalid_argument', `--config-drive: read ${file}`, { cause });
  });
  return text.trimStart().startsWith('{') ? (JSON.parse(text) as unknown) : text.trim();
}

function parse(
  args: string[],
  options: Record<string, { type: 'string' | 'boolean' }>,
): { values: Record<string, unknown>; positionals: string[] } {
  try {
    return parseArgs({ args, allowPositionals: true, options });
  } catch (cause) {
    throw new AppError('invalid_argument', 'read the arguments', { cause });
  }
}

function nodeArgument(args: readonly string[]): string {
  const [ident, ...more] = args;
  if (ident === undefined || more.length > 0) throw new AppError('invalid_argument', 'name one node, by name or UUID');
  return encodeURIComponent(ident);
}

async function getNode(client: ApiClient, ident: string): Promise<Json> {
  const node = await client.call('GET', `/v1/nodes/${ident}`);
  if (!node) throw new AppError('not_found', `there is no node ${ident}`);
  return node;
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map(
      (row) =>
        `${row
          .map((text, column) => text.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
