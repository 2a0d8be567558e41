import { isDeepStrictEqual } from 'node:util';
import type { DriverAnswer } from '#conductor/api/node-parts.ts';
import type { NodeAnswer } from '#conductor/api/resources.ts';
import type { DescribedNode } from '#conductor/cli/nodes/node-file.ts';
import { describeOtherMachine } from '#conductor/cli/nodes/same-machine.ts';
import { type ApiClient, answerFor, callFor, type Json, listAll, readList } from '#conductor/cli/shell/api-client.ts';
import { assignmentHelp, readAssignments, toObject } from '#conductor/cli/shell/assignments.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  listOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { readInputFile } from '#conductor/cli/shell/input-files.ts';
import { cell, print } from '#conductor/cli/shell/print.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { isJsonObject } from '#conductor/model/json-object.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';

const secret = '******';

/**
 * Where what there is differs from what was written, as paths: `driver_info.redfish_address`. What was not written may be
 * anything, and a secret, which no answer shows, is taken to be right. Pure.
 */
function compareFields(written: Json, found: Json, prefix = ''): string[] {
  return Object.entries(written).flatMap(([name, value]) => {
    const path = `${prefix}${name}`;
    const there = found[name];
    if (isJsonObject(value) && isJsonObject(there)) return compareFields(value, there, `${path}.`);
    return isSame(value, there) ? [] : [path];
  });
}

function isSame(value: unknown, there: unknown): boolean {
  if (there === secret || isDeepStrictEqual(value, there)) return true;
  if (value === null || there === undefined) return value === (there ?? null);
  // the API takes words and numbers for true, false and text, and upper case in UUIDs
  return asWord(value) !== undefined && asWord(value) === asWord(there);
}

function asWord(value: unknown): string | undefined {
  const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isScalar ? String(value).toLowerCase() : undefined;
}

/**
 * `completed`: the node was there, and now has the ports, port groups and traits that it lacked; `differs`: it is there
 * and not as written, which is left alone.
 */
type Outcome = 'created' | 'completed' | 'unchanged' | 'differs' | 'failed';

export interface NodeResult {
  readonly name: string;
  readonly outcome: Outcome;
  /** Lines on what was made, what differs, or why it failed. */
  readonly details: readonly string[];
  /** The node differs in its UUID, driver or BMC: as far as anyone can say, it is another machine. */
  readonly isOtherMachine?: true;
}

interface Options {
  /** Only look. */
  readonly dryRun: boolean;
  /** A node without UUID and BMC is not taken for the node of its name, where that has a BMC. */
  readonly needsProof?: boolean;
  /** Called for each node as soon as it is done. */
  readonly onResult: (result: NodeResult) => void;
}

/** So many at once: a conductor answers one client faster than one round trip after another. */
const atOnce = 8;

/**
 * Makes the nodes that are not there yet, with all that belongs to them, and goes on where one fails. A run that broke off
 * is completed by the next one. Results come in the order of the nodes.
 */
export async function createNodes(
  client: ApiClient,
  nodes: readonly DescribedNode[],
  options: Options,
): Promise<NodeResult[]> {
  const make = async (node: DescribedNode): Promise<NodeResult> => {
    const result = await createNode(client, node, options);
    options.onResult(result);
    return result;
  };
  return inParallel(nodes, make, { atOnce });
}

async function createNode(
  client: ApiClient,
  node: DescribedNode,
  { dryRun, needsProof = false }: Options,
): Promise<NodeResult> {
  const made: string[] = [];
  try {
    const existing = await callFor<NodeAnswer>(client, 'GET', `/v1/nodes/${encodeURIComponent(node.name)}`);
    const found = await findBelongings(client, existing);
    const strange = existing ? describeOtherMachine(node.fields, existing, { needsProof }) : [];
    if (existing && strange.length > 0) {
      const details = [...new Set([...strange, ...differencesOf(node, existing, found)])];
      return { name: node.name, outcome: 'differs', details, isOtherMachine: true };
    }
    const send = async (what: string, request: () => Promise<Json | undefined>): Promise<Json> => {
      const answer = dryRun ? {} : await request();
      made.push(what);
      return answer ?? {};
    };
    const created = existing ?? (await send('node', () => client.call('POST', '/v1/nodes', node.fields)));
    await addMissing(client, { node, uuid: String(created['uuid']), found }, send);
    if (!existing) return { name: node.name, outcome: 'created', details: made.slice(1) };
    const differences = differencesOf(node, existing, found);
    if (differences.length > 0) return { name: node.name, outcome: 'differs', details: [...differences, ...made] };
    return { name: node.name, outcome: made.length > 0 ? 'completed' : 'unchanged', details: made };
  } catch (error) {
    const before = made.length > 0 ? [`made: ${made.join(', ')}`] : [];
    return { name: node.name, outcome: 'failed', details: [errorChain(error), ...before] };
  }
}

interface Belongings {
  readonly ports: readonly Json[];
  readonly portgroups: readonly Json[];
  readonly traits: readonly string[];
}

async function findBelongings(client: ApiClient, existing: NodeAnswer | undefined): Promise<Belongings> {
  if (!existing) return { ports: [], portgroups: [], traits: [] };
  const below = (key: string): Promise<Json[]> =>
    listAll(client, { path: `/v1/nodes/${String(existing.uuid)}/${key}`, key }, { detail: 'true' });
  return {
    ports: await below('ports'),
    portgroups: await below('portgroups'),
    traits: existing.traits ?? [],
  };
}

async function addMissing(
  client: ApiClient,
  { node, uuid, found }: { readonly node: DescribedNode; readonly uuid: string; readonly found: Belongings },
  send: (what: string, request: () => Promise<Json | undefined>) => Promise<Json>,
): Promise<void> {
  const groups = new Map(found.portgroups.map((group) => [group['name'], group['uuid']]));
  for (const { name, fields } of node.portgroups.filter((group) => !groups.has(group.name))) {
    const body = { ...fields, node_uuid: uuid };
    const group = await send(`port group ${name}`, () => client.call('POST', '/v1/portgroups', body));
    groups.set(name, group['uuid']);
  }
  const addresses = new Set(found.ports.map((port) => port['address']));
  for (const { address, portgroup, fields } of node.ports.filter((port) => !addresses.has(port.address))) {
    const member = portgroup === undefined ? {} : { portgroup_uuid: groups.get(portgroup) };
    const body = { ...fields, node_uuid: uuid, ...member };
    await send(`port ${address}`, () => client.call('POST', '/v1/ports', body));
  }
  for (const trait of node.traits.filter((name) => !found.traits.includes(name))) {
    await send(`trait ${trait}`, () => client.call('PUT', `/v1/nodes/${uuid}/traits/${trait}`));
  }
}

function differencesOf(node: DescribedNode, existing: Json, found: Belongings): string[] {
  const ports = node.ports.flatMap(({ address, fields }) => {
    const port = found.ports.find((each) => each['address'] === address);
    return port ? compareFields(fields, port, `port ${address}: `) : [];
  });
  const groups = node.portgroups.flatMap(({ name, fields }) => {
    const group = found.portgroups.find((each) => each['name'] === name);
    return group ? compareFields(fields, group, `port group ${name}: `) : [];
  });
  return [...compareFields(node.fields, existing), ...ports, ...groups];
}

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
  const node = await answerFor<NodeAnswer>(context.client, 'create the node', 'POST', '/v1/nodes', body);
  const name = cell(node.name ?? node.uuid);
  const addresses = listOption(input, 'port');
  const ports: unknown[] = [];
  for (const [index, address] of addresses.entries()) {
    const port = context.client.call('POST', '/v1/ports', { node_uuid: node.uuid, address });
    ports.push(await port.catch((cause: unknown) => Promise.reject(withoutPorts(name, addresses.slice(index), cause))));
  }
  print(context, input, {
    json: { ...node, ports },
    text: `node ${name} created; baton manage ${name} takes it under control\n`,
  });
}

/** The node is there all the same: anyone who repeats the command learns that its name is taken. */
function withoutPorts(name: string, missing: readonly string[], cause: unknown): AppError {
  const finish = missing.map((address) => `baton port create ${address} --node ${name}`).join(' && ');
  const message =
    `node ${name} was created, in enroll, but not its port ${missing.join(', ')}: ` +
    `\`${finish}\` finishes it, \`baton node delete ${name}\` removes it; the reason`;
  return new AppError(errorCode(cause), message, { cause });
}

async function knownDrivers(client: ApiClient): Promise<string[]> {
  return (await readList<DriverAnswer>(client, '/v1/drivers', 'drivers')).map(({ name }) => String(name));
}

async function createFromFile(context: CommandContext, input: CommandInput, file: string): Promise<void> {
  const { readNodeFile } = await import('#conductor/cli/nodes/node-file.ts');
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
    'dry-run': { meaning: 'with -f: only say what would be done' },
    port: { value: 'MAC', repeats: true, meaning: 'without -f: a network port of the node' },
  },
  meaning: 'enrol a node, or all of a file',
  details:
    `${assignmentHelp}\n` +
    'The whole file is checked before anything is sent. Nodes that exist already are compared: missing ports, port groups\n' +
    'and traits are added, other differences are only reported. So an interrupted run can be repeated. A node of another\n' +
    'UUID, driver or BMC gets nothing.',
  run: create,
};
