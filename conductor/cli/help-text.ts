import { type Command, type CommandOption, type HelpTable, optionsOf } from '#conductor/cli/command.ts';
import { wrapPieces, wrapRows, wrapText } from '#conductor/cli/wrap-text.ts';

/** `deploy NODE [--image URL] [--wait]` */
export function usageLine(command: Command): string {
  return usagePieces(command, Object.entries(command.options ?? {})).join(' ');
}

/** `remove-etcd NODE --design REVISION`: no more than must be there. */
export function shortUsage(command: Command): string {
  const needed = Object.entries(command.options ?? {}).filter(([, { required }]) => required !== undefined);
  return usagePieces(command, needed).join(' ');
}

function usagePieces(command: Command, chosen: readonly (readonly [string, CommandOption])[]): string[] {
  const options = chosen.map(([name, option]) => {
    const flag = `${option.short === undefined ? `--${name}` : `-${option.short}`}${valueText(option)}`;
    return `${option.required === undefined ? `[${flag}]` : flag}${option.repeats ? '...' : ''}`;
  });
  return [`baton ${command.words}`, ...(command.operands ?? []), ...options];
}

/** ` URL`, `[=SECONDS]` */
export function valueText({ value, mayStandAlone }: CommandOption): string {
  if (value === undefined) return '';
  return mayStandAlone ? `[=${value}]` : ` ${value}`;
}

/** What `--help` prints, for a screen of so many columns. */
export function helpText(command: Command, columns: number, tables: readonly HelpTable[] = []): string {
  const rows = Object.entries(optionsOf(command)).map(([name, option]) => {
    const { short, meaning, repeats, required } = option;
    const flags = `  ${short === undefined ? '    ' : `-${short}, `}--${name}${valueText(option)}${repeats ? '...' : ''}`;
    return [flags, required === undefined ? meaning : `must be given: ${meaning}`] as const;
  });
  const pieces = usagePieces(command, Object.entries(command.options ?? {}));
  const meaning = `${command.meaning[0]?.toUpperCase() ?? ''}${command.meaning.slice(1)}.`;
  return [
    ...wrapPieces(['usage:', ...pieces], columns, ' '.repeat('usage: '.length)),
    '',
    ...wrapPieces(meaning.split(' '), columns),
    ...(command.details === undefined ? [] : wrapText(command.details, columns)),
    '',
    ...wrapRows(rows, columns),
    ...tables.flatMap((table) => ['', `${table.title}:`, ...wrapRows(table.rows, columns)]),
    '',
  ].join('\n');
}
