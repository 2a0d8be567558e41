import { type Command, optionsOf } from '#conductor/cli/shell/command.ts';
import { usageLine, valueText } from '#conductor/cli/shell/help-text.ts';

/** A line of running text in roff: no character of it begins a request or an escape. */
function roff(text: string): string {
  const escaped = text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

/**
 * Renders baton(1) from the table of commands, for `man`: each command with its operands, meaning and own options. Pure.
 * @param settings environment variables with their meaning
 */
export function manPage(
  commands: readonly Command[],
  settings: readonly (readonly [string, string])[],
  version: string,
): string {
  const sorted = commands.toSorted((a, b) => a.words.localeCompare(b.words));
  return [
    `.TH BATON 1 "" "baton ${roff(version)}" "Baton"`,
    '.SH NAME',
    roff('baton - provision bare metal'),
    '.SH SYNOPSIS',
    '.B baton',
    '.I command',
    '[operands] [options]',
    '.SH DESCRIPTION',
    'Every command takes \\-o json, \\-o yaml and \\-\\-help, before or after it.',
    '.SH COMMANDS',
    ...sorted.flatMap(describeCommand),
    '.SH ENVIRONMENT',
    ...settings.flatMap(([name, meaning]) => ['.TP', `.B ${roff(name)}`, roff(meaning)]),
    '.SH SEE ALSO',
    '/usr/share/doc/baton',
    '',
  ].join('\n');
}

function describeCommand(command: Command): string[] {
  const common = optionsOf({ ...command, options: {} });
  const options = Object.entries(command.options ?? {}).filter(([name]) => !Object.hasOwn(common, name));
  return [
    '.TP',
    `.B ${roff(usageLine({ ...command, options: {} }))}`,
    roff(`${command.meaning}.`),
    ...(command.details === undefined ? [] : ['.br', ...command.details.split('\n').map((line) => roff(line.trim()))]),
    ...options.flatMap(([name, option]) => ['.br', roff(`--${name}${valueText(option)}: ${option.meaning}`)]),
  ];
}
