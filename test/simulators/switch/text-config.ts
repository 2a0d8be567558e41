/** A switch's configuration as sections of lines, `interface Ethernet1` → `switchport mode access`, as most systems have it. */
export type TextConfig = Map<string, Map<string, string>>;

export interface SectionCommand {
  /** The command, without `no` before it. */
  readonly form: RegExp;
  /** The part that says which setting it is: the rest is the value. */
  readonly key: string;
}

export function copyConfig(config: TextConfig): TextConfig {
  return new Map([...config].map(([section, lines]) => [section, new Map(lines)]));
}

/** Answers the error, or nothing. */
export function changeSection(
  lines: Map<string, string>,
  command: string,
  known: readonly SectionCommand[],
): string | undefined {
  const positive = command.replace(/^no /, '');
  const isNo = positive !== command;
  const found = known.find(({ form, key }) => form.test(positive) || (isNo && positive === key));
  if (!found) return 'invalid';
  if (!isNo) lines.set(found.key, positive);
  // what is there without a word, such as `switchport`, is taken away by one
  else if (found.form.source === `^${found.key}$`) lines.set(found.key, command);
  else lines.delete(found.key);
  return undefined;
}

export function printConfig(config: TextConfig): string {
  return [...config]
    .map(([section, lines]) => [section, ...[...lines.values()].map((line) => `   ${line}`)].join('\n'))
    .join('\n!\n');
}

/** The interfaces of a printed configuration; a line that the system does not know is a setting of its own. */
export function readConfig(text: string, known: readonly SectionCommand[]): TextConfig {
  const config: TextConfig = new Map();
  let lines: Map<string, string> | undefined;
  for (const line of text.split('\n')) {
    if (/^interface \S/.test(line)) {
      lines = new Map();
      config.set(line.trim(), lines);
    } else if (/^\s+\S/.test(line)) addLine(lines, line.trim(), known);
    else if (!/^\s*!?\s*$/.test(line)) lines = undefined;
  }
  return config;
}

export function addLine(lines: Map<string, string> | undefined, line: string, known: readonly SectionCommand[]): void {
  const positive = line.replace(/^no /, '');
  const key = known.find(({ form }) => form.test(positive))?.key ?? line;
  lines?.set(lines.has(key) ? line : key, line);
}
