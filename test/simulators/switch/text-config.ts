/** A switch's configuration as sections of lines, `interface Ethernet1` → `switchport mode access`, as most systems have it. */
export type TextConfig = Map<string, Map<string, string>>;

export interface SectionCommand {
  /** The command, without `no` before it. */
  readonly form: RegExp;
  /** What of it says which setting it is: the rest is the value. */
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
