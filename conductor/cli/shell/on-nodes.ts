import type { NodeAnswer } from '#conductor/api/resources.ts';
import { listAll } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandOption,
  flagOption,
  listOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { cell, print } from '#conductor/cli/shell/print.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { rackOf } from '#conductor/model/node-words.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

interface Outcome {
  readonly json: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/**
 * Does the same to each operand, one after another, and goes on where one fails. Prints a line each, or a list.
 * @throws AppError the one error, or `command_failed` with all of them
 */
export async function forEachOperand(
  context: CommandContext,
  input: CommandInput,
  act: (name: string, ident: string) => Promise<Outcome>,
): Promise<void> {
  const failures: { readonly name: string; readonly error: unknown }[] = [];
  const documents: unknown[] = [];
  for (const name of input.operands) {
    const outcome = await act(name, encodeURIComponent(name)).catch((error: unknown) => {
      failures.push({ name, error });
      return { json: { name, error: errorChain(error) }, text: '' };
    });
    documents.push(outcome.json);
    // each at once: the next may take long
    if (input.document === undefined) context.screen.write(outcome.text);
  }
  if (input.document !== undefined) print(context, input, { json: documents, text: '' });
  const [first] = failures;
  if (!first) return;
  if (input.operands.length === 1) throw first.error;
  const lines = failures.map(({ name, error }) => `  ${name}: ${errorChain(error)}`);
  throw new AppError('command_failed', `${failures.length} of ${input.operands.length} failed:\n${lines.join('\n')}`);
}

/** Which nodes, in place of their names. */
const selectors = {
  state: { value: 'STATE', meaning: 'nodes in this provision state' },
  class: { value: 'CLASS', meaning: 'nodes of this resource class' },
  rack: { value: 'RACK', meaning: 'nodes whose properties.rack, else extra.rack, is this' },
  trait: { value: 'TRAIT', repeats: true, meaning: 'nodes with all of these traits' },
  group: { value: 'GROUP', meaning: 'nodes of this conductor group' },
  discovered: {
    value: 'SINCE',
    meaning: 'nodes in enroll that reported themselves since then, and not again: 30m, 2h, 3d, or a time',
  },
  yes: { meaning: 'with a selector: act on the nodes; without it they are listed and left alone' },
} as const satisfies Record<string, CommandOption>;

const { yes: _, ...choosing } = selectors;

const atOnce = 16;

/**
 * A command for one node as one for several, named or selected, at the same time: each line that is printed begins with its
 * node, and one that fails does not stop the others. One that takes more operands than the node is for one or those selected.
 * @param reads nothing is changed: selected nodes need no --yes
 */
export function onNodes(command: Command, { reads = false }: { readonly reads?: boolean } = {}): Command {
  const { operands = [], options = {} } = command;
  const [, ...others] = operands;
  const takesMore = others.length > 0;
  return {
    ...command,
    operands: takesMore ? ['[NODE]', ...others] : ['[NODE...]'],
    options: { ...options, ...(reads ? choosing : selectors) },
    run: async (context, input) => {
      const isSelected = hasSelector(input, takesMore);
      if (!isSelected && input.operands.length <= others.length) throw usageError(describeMissing(command, others));
      if (!isSelected && (takesMore || input.operands.length === 1)) return command.run(context, input);
      const names = isSelected ? await selectNodes(context, input, reads) : input.operands;
      const more = takesMore ? input.operands : [];
      requireFiles(command, input);
      await runOnEach(context, input, { names, more }, (each) => command.run(each.context, each.input));
    },
  };
}

function describeMissing({ words }: Command, others: readonly string[]): string {
  const what = others.length > 0 ? ['NODE', ...others].join(' ') : 'NODE...';
  return `${words}: it takes ${what}; usage: baton ${words} ${what}, or --state, --class, --rack, --trait, --group, --discovered to select nodes`;
}

function hasSelector(input: CommandInput, takesMore: boolean): boolean {
  const isSelected = Object.keys(choosing).some((name) => input.values[name] !== undefined);
  if (isSelected && !takesMore && input.operands.length > 0) throw usageError('name nodes or select them, not both');
  if (!isSelected && flagOption(input, 'yes')) throw usageError(`--yes: ${selectors.yes.meaning}`);
  return isSelected;
}

/** Whether a node is in a rack and has all traits, of which the API has no filters. Pure. */
export function isWanted(rack: string | undefined, wanted: readonly string[]) {
  return ({ properties = {}, extra = {}, traits = [] }: NodeAnswer): boolean =>
    (rack === undefined || rackOf({ properties, extra }) === rack) && wanted.every((trait) => traits.includes(trait));
}

async function selectNodes(context: CommandContext, input: CommandInput, reads: boolean): Promise<string[]> {
  const traits = listOption(input, 'trait');
  const rack = textOption(input, 'rack');
  const discovered = textOption(input, 'discovered');
  const since = discovered === undefined ? undefined : readSince(discovered, context.clock.now());
  const query = {
    fields: `uuid,name,traits${rack === undefined ? '' : ',properties,extra'}${since === undefined ? '' : ',created_at,inspection_finished_at'}`,
    provision_state: textOption(input, 'state') ?? (since === undefined ? undefined : 'enroll'),
    resource_class: textOption(input, 'class'),
    conductor_group: textOption(input, 'group'),
  };
  const nodes = await listAll<NodeAnswer>(context.client, { path: '/v1/nodes', key: 'nodes' }, query);
  const names = nodes
    .filter(isWanted(rack, traits))
    .filter((node) => since === undefined || wasSeenOnce(node, since))
    .map(({ name, uuid }) => cell(name ?? uuid));
  if (names.length === 0) throw new AppError('not_found', 'no node matches the selection');
  if (reads || flagOption(input, 'yes')) return names;
  throw usageError(`${names.length} selected, and nothing done: ${names.join(' ')}\n→ --yes acts on them`);
}

const unitsMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** @throws AppError `invalid_argument` for what is no time in the past */
function readSince(text: string, now: Date): number {
  const [, count, unit] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const at =
    unit === undefined
      ? /^\d{4}-\d\d-\d\d/.test(text)
        ? Date.parse(text)
        : Number.NaN
      : now.getTime() - Number(count) * unitsMs[unit as keyof typeof unitsMs];
  if (at <= now.getTime()) return at;
  throw usageError(`--discovered: ${text}: it must be 30m, 2h, 3d, or a time in the past such as 2026-05-01T10:00Z`);
}

/** A machine that boots again reports again, which takes its firmware longer. */
const oneReportMs = 30_000;

function wasSeenOnce({ created_at: created, inspection_finished_at: seen }: NodeAnswer, since: number): boolean {
  if (!created || !seen) return false;
  const first = Date.parse(created);
  return first >= since && Math.abs(Date.parse(seen) - first) < oneReportMs;
}

/** Standard input is read once. */
function requireFiles(command: Command, input: CommandInput): void {
  const [option] = Object.entries(input.values).find(([, value]) => value === '-') ?? [];
  const piped = option === undefined ? input.operands.find((operand) => operand.endsWith('=@-')) : `--${option}`;
  if (piped !== undefined) throw usageError(`${command.words}: ${piped}: for several nodes it must be a file`);
}

interface OneNode {
  readonly context: CommandContext;
  readonly input: CommandInput;
}

async function runOnEach(
  context: CommandContext,
  input: CommandInput,
  { names, more }: { readonly names: readonly string[]; readonly more: readonly string[] },
  act: (each: OneNode) => Promise<void>,
): Promise<void> {
  const documents: unknown[] = names.map(() => []);
  const failures: string[] = [];
  const runOne = async (name: string, index: number): Promise<void> => {
    let written = '';
    const write = (output: string | Uint8Array): void => {
      if (input.document === undefined) context.screen.write(prefixed(name, String(output)));
      else written += String(output);
    };
    // what is painted over for one node are lines for several
    const screen = { ...context.screen, isTerminal: false, write };
    const document = input.document === undefined ? undefined : 'json';
    try {
      await act({ context: { ...context, screen }, input: { ...input, operands: [name, ...more], document } });
    } catch (error) {
      failures.push(`  ${name}: ${errorChain(error)}`);
      if (written === '') documents[index] = { name, error: errorChain(error) };
    }
    if (written !== '') documents[index] = JSON.parse(written) as unknown;
  };
  const waiting = names.entries();
  const work = async (): Promise<void> => {
    for (const [index, name] of waiting) await runOne(name, index);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, names.length) }, work));
  if (input.document !== undefined) print(context, input, { json: documents.flat(), text: '' });
  if (failures.length === 0) return;
  throw new AppError('command_failed', `${failures.length} of ${names.length} failed:\n${failures.join('\n')}`);
}

/** Most lines name their node themselves. */
function prefixed(name: string, text: string): string {
  return text.replaceAll(/^(?=.)/gm, (_, at: number) => (text.startsWith(`node ${name}`, at) ? '' : `${name}: `));
}
