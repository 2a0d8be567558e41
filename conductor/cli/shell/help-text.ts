import { type Command, type CommandOption, type HelpTable, optionsOf } from '#conductor/cli/shell/command.ts';

/** Columns below which nothing is made narrower: no terminal of today. */
const leastColumns = 20;

/**
 * Pieces that stay whole, as lines of at most so many columns where they fit; each line after the first begins with
 * `indent`. Pure.
 */
export function wrapPieces(pieces: readonly string[], columns: number, indent = ''): string[] {
  const most = Math.max(leastColumns, columns);
  const lines: string[] = [];
  for (const piece of pieces) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + piece.length <= most) lines[lines.length - 1] = `${line} ${piece}`;
    else lines.push(line === undefined ? piece : `${indent}${piece}`);
  }
  return lines;
}

/** Lines that follow each other are one paragraph; what begins with a space is an example, and stays as it stands. Pure. */
function wrapText(text: string, columns: number): string[] {
  const paragraphs: string[][] = [];
  for (const line of text.split('\n')) {
    const before = paragraphs.at(-1)?.at(-1);
    if (before === undefined || isExample(line) || isExample(before)) paragraphs.push([line]);
    else paragraphs.at(-1)?.push(line);
  }
  return paragraphs.flatMap((lines) => {
    if (isExample(lines[0] ?? '')) return lines;
    return wrapPieces(lines.join(' ').split(' '), columns);
  });
}

const isExample = (line: string): boolean => line.startsWith(' ');

/** `  --timeout SECONDS  for all of it`: rows of two columns, the second in its own place on lines of its own. Pure. */
export function wrapRows(rows: readonly (readonly [string, string])[], columns: number): string[] {
  const widest = Math.max(0, ...rows.map(([name]) => name.length));
  // what is much longer than the others has a line of its own
  const width = Math.min(widest, Math.floor(Math.max(leastColumns, columns) * 0.45));
  const indent = ' '.repeat(width + 2);
  return rows.flatMap(([name, meaning]) => {
    const shown = wrapPieces(meaning.split(' '), columns - indent.length).map((line) => `${indent}${line}`);
    if (name.length > width) return [name, ...shown];
    return [`${name.padEnd(width)}  ${shown[0]?.trimStart() ?? ''}`.trimEnd(), ...shown.slice(1)];
  });
}

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

/** Composes what `--help` prints, for a screen of so many columns. */
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
