import type { ApiClient } from '#conductor/cli/shell/api-client.ts';
import type { DocumentFormat } from '#conductor/cli/shell/print.ts';
import type { Screen } from '#conductor/cli/shell/screen.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** How a command reaches the conductor. */
export interface Connection {
  readonly client: ApiClient;
  /** Joins the person's terminal with a shell in the node's ramdisk. @param ident as it stands in a path */
  readonly openConsole: (ident: string, kind?: 'shell' | 'serial') => Promise<void>;
}

/** A setting of the conductor, `BATON_PORT`; its default as text, or ''. */
export interface DescribedSetting {
  readonly name: string;
  readonly meaning: string;
  readonly default: string;
}

/** Backup and restore of the conductor's database on this machine. */
export interface DatabaseTool {
  dump(file: string): Promise<{ readonly keyFile: string | null }>;
  restore(file: string): Promise<void>;
}

/** Abilities of a program that has the conductor in it; loaded when they are needed. */
export interface ConductorParts {
  readonly describeSettings: () => Promise<readonly DescribedSetting[]>;
  readonly databaseTool?: () => Promise<DatabaseTool>;
  /** Runs `test/demo` on this terminal to its end; a signal to this process ends it. @returns its exit code */
  readonly runDemo?: (args: readonly string[]) => Promise<number>;
}

export interface CommandContext extends Connection, ConductorParts {
  readonly screen: Screen;
  readonly clock: Clock;
  /** `BATON_IMAGES_DIR` of the conductor on this host; absent = not known. */
  readonly imagesDirectory?: string | undefined;
  /** Settings of registries, as the conductor has them. */
  readonly registryEnvironment?: Readonly<Record<string, string | undefined>>;
  /** Prints a line on standard error, for anyone who waits. */
  readonly notify?: (line: string) => void;
  /** Fires at the first Ctrl-C from now on, which then ends nothing by itself; the second ends `baton`. */
  readonly onInterrupt?: () => AbortSignal;
}

export interface CommandOption {
  /** Placeholder behind the option, `FILE`; absent = a flag. */
  readonly value?: string;
  /** `--wait` alone, or `--wait=SECONDS`: then the option is `''`, or the text. */
  readonly mayStandAlone?: boolean;
  /** May be given again and again: `listOption`. */
  readonly repeats?: boolean;
  /** It must be given; says why, or what there is to be given. */
  readonly required?: string;
  /** It says nothing without this other option. */
  readonly goesWith?: string;
  /** One letter. */
  readonly short?: string;
  readonly meaning: string;
}

/** A table that `--help` shows below the options. */
export interface HelpTable {
  readonly title: string;
  readonly rows: readonly (readonly [string, string])[];
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
  /** Only for `--help`: it may bring what no run has to wait for. */
  readonly helpTables?: () => Promise<readonly HelpTable[]>;
  /** Needs no conductor, and no setting that says how to reach one. */
  readonly offline?: true;
  run(context: CommandContext, input: CommandInput): Promise<void>;
}

export type OptionValue = string | boolean | readonly string[] | undefined;

export interface CommandInput {
  /** Operands, as the command describes them. */
  readonly operands: readonly string[];
  readonly values: Readonly<Record<string, OptionValue>>;
  /** `-o json`, `-o yaml`: one document on standard output, and nothing else. */
  readonly document: DocumentFormat | undefined;
}

const commonOptions: Readonly<Record<string, CommandOption>> = {
  output: { value: 'json|yaml|text', short: 'o', meaning: 'how to print (default: text)' },
  insecure: { meaning: "do not verify the conductor's certificate" },
  help: { short: 'h', meaning: 'this text' },
};

export function optionsOf(command: Command): Record<string, CommandOption> {
  return { ...commonOptions, ...command.options };
}

/** An option's text; `undefined` when it was not given. */
export function textOption(input: CommandInput, name: string): string | undefined {
  const value = input.values[name];
  return typeof value === 'string' ? value : undefined;
}

/** The text of an option that must be given: `parseInput` has seen to it. */
export function requiredOption(input: CommandInput, name: string): string {
  const text = textOption(input, name);
  if (text !== undefined) return text;
  throw new AppError('internal', `--${name} is read as one that must be given, and its table does not say so`);
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
