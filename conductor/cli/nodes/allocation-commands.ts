import type { AllocationAnswer } from '#conductor/api/allocations.ts';
import type { TrialAnswer } from '#conductor/api/node-parts.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { answerFor, callFor } from '#conductor/cli/shell/api-client.ts';
import { readAssignments, toObject } from '#conductor/cli/shell/assignments.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  listOption,
  numberOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { cell, print, table } from '#conductor/cli/shell/print.ts';
import {
  deleteCommand,
  listCommand,
  type Resource,
  setCommand,
  showCommand,
} from '#conductor/cli/shell/resource-commands.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { AppError } from '#shared/errors/app-error.ts';

const pollMs = 500;
/** Time that the conductor takes to match and to write, beyond the wait for capacity. */
const graceMs = 60_000;

async function requestBody(input: CommandInput): Promise<Json> {
  if (flagOption(input, 'spread') && flagOption(input, 'pack')) throw usageError('--spread, --pack: one of them');
  if (textOption(input, 'count') === undefined) {
    const stray = ['min-count', 'spread', 'pack'].find((name) => input.values[name] !== undefined);
    if (stray !== undefined) throw usageError(`--${stray}: it goes with --count`);
  }
  const placement = flagOption(input, 'spread') ? 'spread' : flagOption(input, 'pack') ? 'pack' : undefined;
  const wait = textOption(input, 'wait');
  const extra = listOption(input, 'extra').map((text) => `extra.${text}`);
  const body: Json = {
    resource_class: resourceClass(input),
    uuid: textOption(input, 'uuid'),
    node: textOption(input, 'node'),
    name: textOption(input, 'name'),
    owner: textOption(input, 'owner'),
    traits: nonEmpty(listOption(input, 'trait')),
    candidate_nodes: nonEmpty(listOption(input, 'candidate')),
    count: numberOption(input, 'count'),
    min_count: numberOption(input, 'min-count'),
    placement,
    wait: wait === undefined || wait === '' ? undefined : numberOption(input, 'wait'),
    ...toObject(await readAssignments(extra)),
  };
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

function resourceClass(input: CommandInput): string | undefined {
  const [operand] = input.operands;
  const option = textOption(input, 'resource-class');
  if (operand !== undefined && option !== undefined)
    throw usageError('--resource-class: the same as CLASS, so one of them');
  const given = operand ?? option;
  if (given === undefined && textOption(input, 'node') === undefined) throw usageError('CLASS is missing (or --node)');
  return given;
}

function nonEmpty(list: readonly string[]): readonly string[] | undefined {
  return list.length > 0 ? list : undefined;
}

/** One, or of several a list. */
type Made = AllocationAnswer | { readonly allocations: readonly AllocationAnswer[] };

async function allocate(context: CommandContext, input: CommandInput): Promise<void> {
  const body = await requestBody(input);
  if (flagOption(input, 'dry-run')) {
    await dryRun(context, input, body);
    return;
  }
  const answer = await answerFor<Made>(context.client, 'allocate nodes', 'POST', '/v1/allocations', body);
  const made = 'allocations' in answer ? answer.allocations : [answer];
  const rested = input.values['wait'] === undefined ? made : await waitFor(context, input, made);
  const failed = rested.filter((each) => each.state === 'error');
  // with min_count some may have found nothing
  const isEnough = rested.length - failed.length >= (numberOption(input, 'min-count') ?? rested.length);
  if (input.document !== undefined || isEnough) {
    print(context, input, {
      json: 'allocations' in answer ? rested : rested[0],
      text: await describe(context, rested),
    });
  }
  if (isEnough) return;
  const reasons = new Set(failed.map((each) => cell(each.last_error)));
  const names = failed.map((each) => cell(each.name ?? each.uuid));
  throw new AppError(
    'command_failed',
    `${[...reasons].join('; ')}\n→ \`baton allocate … --dry-run\` says why each node was refused; ` +
      `\`baton allocation delete ${names.join(' ')}\` forgets what has failed`,
  );
}

async function waitFor(
  context: CommandContext,
  input: CommandInput,
  made: readonly AllocationAnswer[],
): Promise<AllocationAnswer[]> {
  const until = context.clock.now().getTime() + graceMs + (Number(textOption(input, 'wait')) || 0) * 1000;
  const rested: AllocationAnswer[] = [];
  for (const { uuid } of made) {
    for (;;) {
      const current = await callFor<AllocationAnswer>(context.client, 'GET', `/v1/allocations/${String(uuid)}`);
      if (!current) throw new AppError('not_found', `allocation ${String(uuid)} was deleted meanwhile`);
      if (current.state !== 'allocating') {
        rested.push(current);
        break;
      }
      if (context.clock.now().getTime() > until) {
        throw new AppError('timeout', `wait for allocation ${String(uuid)}: it is still allocating, and goes on`);
      }
      await context.clock.sleep(pollMs);
    }
  }
  return rested;
}

async function describe(context: CommandContext, allocations: readonly AllocationAnswer[]): Promise<string> {
  const lines: string[] = [];
  for (const { name, uuid, state, node_uuid: nodeUuid } of allocations) {
    const what = `allocation ${cell(name ?? uuid)}`;
    if (state === 'active') {
      const node = await context.client.call('GET', `/v1/nodes/${String(nodeUuid)}?fields=uuid,name`);
      lines.push(`${what}: node ${cell(node?.['name'] ?? nodeUuid)}\n`);
    } else {
      lines.push(`${what}: ${cell(state)}; baton allocation show ${cell(name ?? uuid)} shows more\n`);
    }
  }
  return lines.join('');
}

async function dryRun(context: CommandContext, input: CommandInput, body: Json): Promise<void> {
  const request = { ...body, dry_run: true };
  const answer = await answerFor<TrialAnswer>(context.client, 'try an allocation', 'POST', '/v1/allocations', request);
  const chosen = answer.nodes.map(({ name, uuid }) => [name ?? uuid, 'would be taken']);
  const refused = answer.refused.map(({ name, uuid, reasons }) => [name ?? uuid, reasons.join('; ')]);
  const end = answer.error === null ? `${answer.fitting} fit\n` : '';
  print(context, input, { json: answer, text: `${table([...chosen, ...refused])}${end}` });
  if (answer.error !== null) throw new AppError('command_failed', answer.error);
}

export const allocateCommand: Command = {
  words: 'allocate',
  operands: ['[CLASS]'],
  options: {
    'resource-class': { value: 'CLASS', meaning: 'the same as CLASS, as in `baremetal`' },
    uuid: { value: 'UUID', meaning: 'of the allocation; default: a new one' },
    node: { value: 'NODE', meaning: 'make the allocation of a node that has an instance already' },
    name: { value: 'NAME', meaning: 'of the allocation; a node of that name is tried first' },
    trait: { value: 'TRAIT', repeats: true, meaning: 'the node must have it' },
    candidate: { value: 'NODE', repeats: true, meaning: 'only these nodes, by name or UUID' },
    owner: { value: 'PROJECT', meaning: 'only nodes that it owns or leases' },
    count: { value: 'COUNT', meaning: 'this many nodes, or none' },
    'min-count': { value: 'COUNT', meaning: 'with --count: accept as few as this' },
    spread: { meaning: 'spread over as many racks as possible' },
    pack: { meaning: 'use as few racks as possible' },
    extra: { value: 'KEY=TEXT', repeats: true, meaning: 'noted on the allocation' },
    wait: {
      value: 'SECONDS',
      mayStandAlone: true,
      meaning: 'until it has its nodes; with SECONDS it waits so long for nodes to become free',
    },
    'dry-run': { meaning: 'reserve nothing: say why each node would be refused' },
  },
  meaning: 'have the conductor choose an available node and reserve it for you',
  details: 'Then: baton deploy NODE --image …; baton undeploy NODE gives it back.',
  run: allocate,
};

const allocations: Resource = {
  words: 'allocation',
  operand: 'ALLOCATION',
  path: '/v1/allocations',
  key: 'allocations',
  columns: ['uuid', 'name', 'resource_class', 'state', 'node_uuid', 'owner'],
  filters: {
    state: { query: 'state', value: 'STATE', meaning: 'only allocating, active or error' },
    class: { query: 'resource_class', value: 'CLASS', meaning: 'only of this resource class' },
    'resource-class': { query: 'resource_class', value: 'CLASS', meaning: 'the same as --class, as in `baremetal`' },
    node: { query: 'node', value: 'NODE', meaning: 'only of this node' },
    owner: { query: 'owner', value: 'PROJECT', meaning: 'only of this owner' },
  },
  choosesFields: true,
};

export const allocationCommands: readonly Command[] = [
  listCommand(allocations, 'allocations'),
  showCommand(allocations, 'everything about an allocation'),
  setCommand(allocations, "change an allocation's name or extra"),
  deleteCommand(allocations, 'give nodes back that have no instance'),
];
