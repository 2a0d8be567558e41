/** How the systems talk that are logged in to with a command line of their own. */

/** Forms of a switch's OS that a dialogue with prompts needs to know. */
export interface ShellForm {
  /** Commands after the login: no pages, no wrapped lines, and `enable` where a login begins without rights. */
  readonly setUp: readonly string[];
  /** Patterns of what the switch prints when it does not do a command. */
  readonly errors: RegExp;
  /** Refusals for the moment, because of what others do there: a flow tries again. */
  readonly busy?: RegExp;
  /**
   * Words that it prints when it has saved, by the command that saves; that command's question for a confirmation is
   * answered.
   */
  readonly saved?: { readonly command: string; readonly says: RegExp };
  /** Default: a line feed. */
  readonly lineEnd?: '\r';
}

/** `%SYS-5-CONFIG_I: …` is a log's line. */
const log = '[A-Z0-9_]+-[0-7]-';

/** Words of refusals after ansible's, netmiko's and networking-generic-switch's lists, and recorded sessions. */
export const shellForms = {
  'ios-xe': {
    setUp: ['enable', 'terminal length 0', 'terminal width 511'],
    errors: new RegExp(
      `^(% ?(?!${log}|VLAN|Access VLAN|Applying VLAN|Warning)[A-Z]|Command (rejected|authorization failed)|%Error|Error[ :]|startup-config file open failed|Translating ")`,
      'm',
    ),
    busy: /Device or resource busy/,
    saved: { command: 'write memory', says: /\[OK\]/ },
  },
  nxos: {
    setUp: ['terminal length 0', 'terminal width 511'],
    errors: new RegExp(
      `^(% ?(?!${log}|Warning)[A-Z]|error:|command failed|syntax error|invalid (command|input|interface|range|parameter|value)|(incomplete|ambiguous) command|configuration (update aborted|failed)|cannot |failed |permission denied|VLAN.*(is reserved|internal))`,
      'im',
    ),
    busy: /Please try again|wait for the system|system not ready/,
    saved: { command: 'copy running-config startup-config', says: /^Copy complete/m },
  },
  eos: {
    setUp: ['enable', 'terminal length 0', 'terminal width 511'],
    errors: /^(% (?!Warning)|Maximum number of pending sessions|Authorization denied)/m,
    busy: /Maximum number of pending sessions/,
    saved: { command: 'write memory', says: /^Copy completed successfully/m },
  },
  junos: {
    setUp: ['set cli screen-length 0', 'set cli screen-width 0'],
    errors:
      /^\s*(error: |syntax error|unknown command|missing argument|invalid |ambiguous |permission denied|terminal:\d+:|load complete \(\d+ error)/m,
    busy: /configuration database locked/,
  },
  os10: {
    setUp: ['terminal length 0'],
    errors:
      /^(% ?(?!Warning|Info|Node)[A-Z]|Error\b|Syntax error|(Incomplete|Ambiguous|Unrecognized|Invalid) |Permission denied|Connection timed out|\S.* not found\.?$|'.*' returned error code)/im,
    // older ones say nothing
    saved: { command: 'copy running-configuration startup-configuration', says: /^\s*$|^Copy(ing)? complete/im },
  },
  'aos-cx': {
    setUp: ['no page'],
    errors:
      /^(% ?(?!Warning|Info)[A-Z]|Invalid |Command incomplete|(Incomplete|Ambiguous|Unknown) (command|input)|Error\b|Failed\b|Operation not |Cannot |Could not |Unable to |Permission denied|Not (allowed|authorized|supported|permitted)|\S.* (does not exist|not found|(is|are) not (supported|allowed|permitted))\b)/im,
    saved: { command: 'write memory', says: /Success/ },
    // a terminal's Enter; netmiko's driver sends it too
    lineEnd: '\r',
  },
} as const satisfies Readonly<Record<string, ShellForm>>;

/** A refusal to show something is short; a long text is what was asked for, with words of an operator's in it. */
const linesOfRefusal = 10;

/** Finds the line in which the switch refuses a command; `undefined` when it has done it. */
export function refusalIn(form: ShellForm, command: string, output: string): string | undefined {
  const lines = output.split('\n');
  if (command.startsWith('show ') && lines.length > linesOfRefusal) return undefined;
  const refusal = form.errors.exec(output);
  if (refusal) return (lines.find((line) => line.includes(refusal[0].trim())) ?? refusal[0]).trim();
  const { saved } = form;
  if (command !== saved?.command || saved.says.test(output)) return undefined;
  return `it does not say that it has saved: ${JSON.stringify(output.trim().slice(-200))}`;
}
