import { parseArgs } from 'node:util';
import type { ApiClient } from '#conductor/cli/api-client.ts';
import type { Screen } from '#conductor/cli/paint-lines.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** How a command reaches the conductor. */
export interface Connection {
  readonly client: ApiClient;
  /** Joins the person's terminal with a shell in the node's ramdisk. @param ident as it stands in a path */
  readonly openConsole: (ident: string) => Promise<void>;
}

export interface CommandContext extends Connection {
  readonly screen: Screen;
  readonly clock: Clock;
  /** Fires at the first Ctrl-C from now on, which then ends nothing by itself; the second ends `baton`. */
  readonly onInterrupt?: () => AbortSignal;
}

export interface CommandOption {
  /** What stands behind it, `FILE`; absent = a flag. */
  readonly value?: string;
  /** `--wait` alone, or `--wait=SECONDS`: then the option is `''`, or the text. */
  readonly mayStandAlone?: boolean;
  /** May be given again and again: `listOption`. */
  readonly repeats?: boolean;
  /** One letter. */
  readonly short?: string;
  readonly meaning: string;
}

export interface Command {
  /** `node show`: what selects it. */
  readonly words: string;
  /** `NODE`: each must be there. `NODE...`, the last one: one or more; `[FIELD=VALUE...]`: any number. */
  readonly operands?: readonly string[];
  readonly options?: Readonly<Record<string, CommandOption>>;
  /** One line. */
  readonly meaning: string;
  /** More lines for `--help`. */
  readonly details?: string;
  /** Needs no conductor, and no setting that says how to reach one. */
  readonly offline?: true;
  run(context: CommandContext, input: CommandInput): Promise<void>;
}

type OptionValue = string | boolean | readonly string[] | undefined;

export interface CommandInput {
  /** As the command's operands say. */
  readonly operands: readonly string[];
  readonly values: Readonly<Record<string, OptionValue>>;
  /** `-o json`, `-o yaml`: one document on standard output, and nothing else. */
  readonly document: DocumentFormat | undefined;
}

const documentFormats = ['json', 'yaml'] as const;
type DocumentFormat = (typeof documentFormats)[number];

/** What every command takes. */
const commonOptions: Readonly<Record<string, CommandOption>> = {
  output: { value: 'json|yaml|text', short: 'o', meaning: 'how to print (default: text)' },
  insecure: { meaning: "take the conductor's certificate without proof" },
  help: { short: 'h', meaning: 'this text' },
};

export function optionsOf(command: Command): Record<string, CommandOption> {
  return { ...commonOptions, ...command.options };
}

/** Bad usage: nothing was sent. `main.ts` ends with its own exit code for it. */
export function usageError(message: string, options: { readonly cause?: unknown } = {}): AppError {
  return new AppError('invalid_argument', message, { ...options, details: { usage: true } });
}

/**
 * The operands and options of a command line.
 * @throws AppError `invalid_argument` naming what is wrong, with the command's usage.
 */
export function parseInput(command: Command, args: readonly string[]): CommandInput {
  const options = optionsOf(command);
  const { values, positionals } = parse(command, standAlone(args, options), options);
  if (values['help'] !== true) requireOperands(command, positionals);
  const output = values['output'];
  const document = documentFormats.find((format) => format === output);
  if (output !== undefined && document === undefined && output !== 'text' && !command.options?.['output']) {
    throw usageError(`${command.words}: -o: it must be json, yaml or text`);
  }
  return { operands: positionals, values, document };
}

function requireOperands(command: Command, given: readonly string[]): void {
  const wanted = command.operands ?? [];
  const least = wanted.filter((name) => !name.startsWith('[')).length;
  const most = wanted.some((name) => name.includes('...')) ? Number.POSITIVE_INFINITY : wanted.length;
  if (given.length >= least && given.length <= most) return;
  const what = wanted.length === 0 ? 'it takes no operands' : `it takes ${wanted.join(' ')}`;
  throw usageError(`${command.words}: ${what}; usage: ${usageLine(command)}`);
}

/** `parseArgs` knows no option whose value may be left away: such a one gets an empty value. */
function standAlone(args: readonly string[], options: Readonly<Record<string, CommandOption>>): string[] {
  return args.map((arg) => (options[arg.replace(/^--/, '')]?.mayStandAlone && arg.startsWith('--') ? `${arg}=` : arg));
}

function parse(
  command: Command,
  args: readonly string[],
  options: Readonly<Record<string, CommandOption>>,
): { values: Record<string, OptionValue>; positionals: string[] } {
  const config = Object.fromEntries(
    Object.entries(options).map(([name, { value, short, repeats }]) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        ...(short ? { short } : {}),
        ...(repeats ? { multiple: true } : {}),
      },
    ]),
  );
  try {
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: config });
    return { values: values as Record<string, OptionValue>, positionals };
  } catch (cause) {
    throw usageError(`${command.words}: usage: ${usageLine(command)}`, { cause });
  }
}

/** `deploy NODE [--image URL] [--wait]` */
export function usageLine(command: Command): string {
  const options = Object.entries(command.options ?? {}).map(([name, option]) => {
    const flag = option.short === undefined ? `--${name}` : `-${option.short}`;
    return `[${flag}${valueText(option)}]${option.repeats ? '...' : ''}`;
  });
  return ['baton', command.words, ...(command.operands ?? []), ...options].join(' ');
}

function valueText({ value, mayStandAlone }: CommandOption): string {
  if (value === undefined) return '';
  return mayStandAlone ? `[=${value}]` : ` ${value}`;
}

/** What `--help` prints. */
export function helpText(command: Command): string {
  const rows = Object.entries(optionsOf(command)).map(([name, option]) => {
    const { short, meaning, repeats } = option;
    const flags = `${short === undefined ? '    ' : `-${short}, `}--${name}${valueText(option)}${repeats ? '...' : ''}`;
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

/** All that was given of an option that repeats. */
export function listOption(input: CommandInput, name: string): readonly string[] {
  const value = input.values[name];
  return Array.isArray(value) ? (value as readonly string[]) : [];
}

/** @throws AppError `invalid_argument` unless it is a whole number from `least` on. */
export function numberOption(input: CommandInput, name: string, least = 1): number | undefined {
  const text = textOption(input, name);
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number >= least) return number;
  throw usageError(`--${name}: it must be a whole number, ${least} or more`);
}

export function flagOption(input: CommandInput, name: string): boolean {
  return input.values[name] === true;
}

/** The first operand as it stands in a path of the API. */
export function pathOperand(input: CommandInput): string {
  return encodeURIComponent(input.operands[0] ?? '');
}
