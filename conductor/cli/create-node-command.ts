import type { ApiClient, Json } from '#conductor/cli/api-client.ts';
import { assignmentHelp, readAssignments, toObject } from '#conductor/cli/assignments.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  listOption,
  textOption,
  usageError,
} from '#conductor/cli/command.ts';
import { createNodes, type NodeResult } from '#conductor/cli/create-nodes.ts';
import { cell, print } from '#conductor/cli/print.ts';
import { readInputFile } from '#conductor/cli/read-input-file.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

async function create(context: CommandContext, input: CommandInput): Promise<void> {
  const file = textOption(input, 'file');
  if (file !== undefined) {
    if (input.operands.length > 0 || listOption(input, 'port').length > 0) {
      throw usageError('node create: with -f the file says everything');
    }
    await createFromFile(context, input, file);
    return;
  }
  if (flagOption(input, 'dry-run')) throw usageError('--dry-run: it goes with -f FILE');
  const body = toObject(await readAssignments(input.operands, context));
  if (body['driver'] === undefined) throw usageError('node create: driver=… must be given, or -f FILE');
  await createOne(context, input, body);
}

async function createOne(context: CommandContext, input: CommandInput, body: Json): Promise<void> {
  const node = (await context.client.call('POST', '/v1/nodes', body)) ?? {};
  const name = cell(node['name'] ?? node['uuid']);
  const addresses = listOption(input, 'port');
  const ports: unknown[] = [];
  for (const [index, address] of addresses.entries()) {
    const port = context.client.call('POST', '/v1/ports', { node_uuid: node['uuid'], address });
    ports.push(await port.catch((cause: unknown) => Promise.reject(withoutPorts(name, addresses.slice(index), cause))));
  }
  print(context, input, {
    json: { ...node, ports },
    text: `node ${name} created; baton manage ${name} takes it under control\n`,
  });
}

/** The node is there all the same: whoever repeats the command is told that its name is taken. */
function withoutPorts(name: string, missing: readonly string[], cause: unknown): AppError {
  const finish = missing.map((address) => `baton port create ${address} --node ${name}`).join(' && ');
  const message =
    `node ${name} was created, in enroll, but not its port ${missing.join(', ')}: ` +
    `\`${finish}\` finishes it, \`baton node delete ${name}\` removes it; the reason`;
  return new AppError(errorCode(cause), message, { cause });
}

async function knownDrivers(client: ApiClient): Promise<string[]> {
  const answer = await client.call('GET', '/v1/drivers');
  return ((answer?.['drivers'] ?? []) as Json[]).map((driver) => String(driver['name']));
}

async function createFromFile(context: CommandContext, input: CommandInput, file: string): Promise<void> {
  const { readNodeFile } = await import('#conductor/cli/node-file.ts');
  const text = await readInputFile('-f', file);
  readNodeFile(text, file); // before anybody is asked anything
  const nodes = readNodeFile(text, file, await knownDrivers(context.client));
  const dryRun = flagOption(input, 'dry-run');
  const results = await createNodes(context.client, nodes, {
    dryRun,
    onResult: (result) => {
      if (input.document === undefined) context.screen.write(`${resultText(result, dryRun)}\n`);
    },
  });
  if (input.document !== undefined) print(context, input, { json: results, text: '' });
  const count = (outcome: NodeResult['outcome']): number => results.filter((each) => each.outcome === outcome).length;
  const bad = count('failed') + count('differs');
  if (bad === 0) return;
  throw new AppError(
    'command_failed',
    `${bad} of ${results.length} nodes are not as ${file} has them: ${count('failed')} failed, ` +
      `${count('differs')} are there and differ (baton node set changes them)`,
  );
}

const dryWords: Readonly<Partial<Record<NodeResult['outcome'], string>>> = {
  created: 'would be created',
  completed: 'would be completed',
};

function resultText({ name, outcome, details }: NodeResult, dryRun: boolean): string {
  const words = (dryRun ? dryWords[outcome] : undefined) ?? outcome;
  return `${name}: ${words}${details.length > 0 ? `: ${details.join(', ')}` : ''}`;
}

export const createNodeCommand: Command = {
  words: 'node create',
  operands: ['[FIELD=VALUE...]'],
  options: {
    file: { value: 'FILE', short: 'f', meaning: 'nodes with their ports, port groups and traits, JSON or YAML' },
    'dry-run': { meaning: 'with -f: say what would be done' },
    port: { value: 'MAC', repeats: true, meaning: 'without -f: a network port of the node' },
  },
  meaning: 'enrol a node, or all of a file',
  details:
    `${assignmentHelp}\n` +
    'A file is checked whole before anything is sent. Nodes that are there already are compared: what they lack of ports,\n' +
    'port groups and traits is added, other differences are reported and left. So a run that broke off can be repeated.',
  run: create,
};
