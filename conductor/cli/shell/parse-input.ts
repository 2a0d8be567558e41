import { parseArgs } from 'node:util';
import {
  type Command,
  type CommandInput,
  type CommandOption,
  type OptionValue,
  optionsOf,
} from '#conductor/cli/shell/command.ts';
import { shortUsage, valueText } from '#conductor/cli/shell/help-text.ts';
import { documentFormats } from '#conductor/cli/shell/print.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { nearestWord } from '#shared/words.ts';

/**
 * The operands and options of a command line.
 * @throws AppError `invalid_argument` naming what is wrong, and what would be right; never a value, which may be a secret.
 */
export function parseInput(command: Command, args: readonly string[]): CommandInput {
  const options = optionsOf(command);
  const { values, operands } = parse(command, args, options);
  if (values['help'] === true) return { operands, values, document: undefined };
  requireOperands(command, operands);
  const output = values['output'];
  const document = documentFormats.find((format) => format === output);
  if (output !== undefined && document === undefined && output !== 'text' && !command.options?.['output']) {
    throw usageError(`${command.words}: -o: it must be json, yaml or text`);
  }
  for (const [name, option] of Object.entries(options)) {
    if (option.required === undefined || values[name] !== undefined) continue;
    throw usageError(`${command.words}: --${name}${valueText(option)} must be given: ${option.required}`);
  }
  for (const name of Object.keys(values)) {
    const other = options[name]?.goesWith;
    if (other === undefined || values[other] !== undefined) continue;
    throw usageError(`${command.words}: --${name} goes with --${other}`);
  }
  return { operands, values, document };
}

function requireOperands(command: Command, given: readonly string[]): void {
  const wanted = command.operands ?? [];
  const least = wanted.filter((name) => !name.startsWith('[')).length;
  const most = wanted.some((name) => name.includes('...')) ? Number.POSITIVE_INFINITY : wanted.length;
  if (given.length >= least && given.length <= most) return;
  const what = wanted.length === 0 ? 'it takes no operands' : `it takes ${wanted.join(' ')}`;
  throw usageError(`${command.words}: ${what}; usage: ${shortUsage(command)}`);
}

/** `parseArgs` knows no option whose value may be left away: such a one gets an empty value. */
function standAlone(args: readonly string[], options: Readonly<Record<string, CommandOption>>): string[] {
  return args.map((arg) => (options[arg.replace(/^--/, '')]?.mayStandAlone && arg.startsWith('--') ? `${arg}=` : arg));
}

interface GivenOption {
  readonly name: string;
  /** Name as it was written: `-o`. */
  readonly rawName: string;
  readonly value: string | undefined;
  /** `--image=URL` */
  readonly inlineValue: boolean | undefined;
}

/** Node's own refusals repeat what was written, and say less. */
function parse(
  command: Command,
  args: readonly string[],
  options: Readonly<Record<string, CommandOption>>,
): { values: Record<string, OptionValue>; operands: string[] } {
  const config = Object.fromEntries(
    Object.entries(options).map(([name, { value, short }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), ...(short ? { short } : {}) },
    ]),
  );
  const { tokens } = parseArgs({
    args: standAlone(args, options),
    allowPositionals: true,
    strict: false,
    tokens: true,
    options: config,
  });
  const values: Record<string, OptionValue> = {};
  const operands: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value);
    if (token.kind !== 'option') continue;
    const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    if (option === undefined) throw unknownOption(command, token, Object.keys(options));
    const value = valueOf(command, option, token);
    const before = values[token.name];
    if (option.repeats && typeof value === 'string') {
      values[token.name] = [...(Array.isArray(before) ? (before as readonly string[]) : []), value];
    } else if (before === undefined || before === value) values[token.name] = value;
    else throw usageError(`${command.words}: ${token.rawName}: given twice, and not the same`);
  }
  return { values, operands };
}

function valueOf(command: Command, option: CommandOption, { rawName, value, inlineValue }: GivenOption): string | true {
  const place = `${command.words}: ${rawName}`;
  if (option.value === undefined) {
    if (value === undefined) return true;
    throw usageError(`${place}: it takes no value`);
  }
  if (value === undefined) throw usageError(`${place}: ${option.value} must stand behind it`);
  if (inlineValue === true || value.length < 2 || !value.startsWith('-')) return value;
  throw usageError(`${place}: ${option.value} must stand behind it; one that begins with a dash as ${rawName}=-…`);
}

function unknownOption(command: Command, { rawName, name }: GivenOption, names: readonly string[]) {
  const meant = documentFormats.some((format) => format === name) ? `-o ${name}` : nearestWord(name, names);
  const hint = meant === undefined ? '' : `did you mean ${meant.startsWith('-') ? meant : `--${meant}`}? `;
  return usageError(`${command.words}: there is no option ${rawName}; ${hint}baton ${command.words} --help lists all`);
}
