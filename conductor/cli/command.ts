import { parseArgs } from 'node:util';
import type { ApiClient } from '#conductor/cli/api-client.ts';
import type { Screen } from '#conductor/cli/watch-flow.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface CommandContext {
  readonly client: ApiClient;
  readonly screen: Screen;
  readonly clock: Clock;
  /** Joins the person's terminal with a shell in the node's ramdisk. @param ident as it stands in a path */
  readonly openConsole: (ident: string) => Promise<void>;
}

export interface CommandOption {
  /** What stands behind it, `FILE`; absent = a flag. */
  readonly value?: string;
  /** One letter. */
  readonly short?: string;
  readonly meaning: string;
}

export interface Command {
  /** `node show`: what selects it. */
  readonly words: string;
  /** `NODE`: each must be there. */
  readonly operands?: readonly string[];
  readonly options?: Readonly<Record<string, CommandOption>>;
  /** One line. */
  readonly meaning: string;
  /** More lines for `--help`. */
  readonly details?: string;
  run(context: CommandContext, input: CommandInput): Promise<void>;
}

export interface CommandInput {
  /** As many as the command has operands. */
  readonly operands: readonly string[];
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  /** `-o json`: one JSON document on standard output, and nothing else. */
  readonly json: boolean;
}

/** What every command takes. */
const outputOption: CommandOption = { value: 'json|text', short: 'o', meaning: 'how to print (default: text)' };
const helpOption: CommandOption = { short: 'h', meaning: 'this text' };

function optionsOf(command: Command): Record<string, CommandOption> {
  return { output: outputOption, help: helpOption, ...command.options };
}

/**
 * The operands and options of a command line.
 * @throws AppError `invalid_argument` naming what is wrong, with the command's usage.
 */
export function parseInput(command: Command, args: readonly string[]): CommandInput {
  const options = Object.fromEntries(
    Object.entries(optionsOf(command)).map(([name, { value, short }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), ...(short ? { short } : {}) },
    ]),
  );
  const { values, positionals } = parse(command, args, options);
  const wanted = command.operands ?? [];
  if (positionals.length !== wanted.length && values['help'] !== true) {
    const what = wanted.length === 0 ? 'it takes no operands' : `it takes ${wanted.join(' ')}`;
    throw new AppError('invalid_argument', `${command.words}: ${what}; usage: ${usageLine(command)}`);
  }
  const output = values['output'];
  const isFormat = output === 'json' || output === 'text';
  if (output !== undefined && !isFormat && command.options?.['output'] === undefined) {
    throw new AppError('invalid_argument', `${command.words}: -o: it must be json or text`);
  }
  return { operands: positionals, values, json: output === 'json' };
}

function parse(
  command: Command,
  args: readonly string[],
  options: Record<string, { type: 'boolean' | 'string'; short?: string }>,
): { values: Record<string, string | boolean | undefined>; positionals: string[] } {
  try {
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
    return { values: { ...values }, positionals };
  } catch (cause) {
    throw new AppError('invalid_argument', `${command.words}: usage: ${usageLine(command)}`, { cause });
  }
}

/** `deploy NODE [--image URL] [--wait]` */
export function usageLine(command: Command): string {
  const options = Object.entries(command.options ?? {}).map(([name, { value, short }]) => {
    const flag = short === undefined ? `--${name}` : `-${short}`;
    return `[${value === undefined ? flag : `${flag} ${value}`}]`;
  });
  return ['baton', command.words, ...(command.operands ?? []), ...options].join(' ');
}

/** What `--help` prints. */
export function helpText(command: Command): string {
  const rows = Object.entries(optionsOf(command)).map(([name, { value, short, meaning }]) => {
    const flags = `${short === undefined ? '    ' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
    return [flags, meaning] as const;
  });
  const width = Math.max(...rows.map(([flags]) => flags.length));
  return [
    `usage: ${usageLine(command)}`,
    '',
    `${command.meaning[0]?.toUpperCase() ?? ''}${command.meaning.slice(1)}.`,
    ...(command.details === undefined ? [] : [command.details]),
    '',
    ...rows.map(([flags, meaning]) => `  ${flags.padEnd(width)}  ${meaning}`),
    '',
  ].join('\n');
}

/** An option's text; `undefined` when it was not given. */
export function textOption(input: CommandInput, name: string): string | undefined {
  const value = input.values[name];
  return typeof value === 'string' ? value : undefined;
}

export function flagOption(input: CommandInput, name: string): boolean {
  return input.values[name] === true;
}

/** The first operand as it stands in a path of the API. */
export function pathOperand(input: CommandInput): string {
  return encodeURIComponent(input.operands[0] ?? '');
}
