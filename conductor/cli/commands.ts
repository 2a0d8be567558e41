import { type Command, type CommandContext, helpText, parseInput } from '#conductor/cli/command.ts';
import { consoleCommands } from '#conductor/cli/console-commands.ts';
import { deployCommands } from '#conductor/cli/deploy-commands.ts';
import { logCommands } from '#conductor/cli/log-commands.ts';
import { nodeCommands } from '#conductor/cli/node-commands.ts';
import { print, table } from '#conductor/cli/print.ts';
import { stateCommands } from '#conductor/cli/state-commands.ts';
import { templateCommands } from '#conductor/cli/template-commands.ts';
import { describeSettings } from '#conductor/config.ts';
import { AppError } from '#shared/errors/app-error.ts';

const settings: Command = {
  words: 'settings',
  meaning: 'the conductor’s settings (environment), meaning and default',
  run: (context, input) => {
    const rows = describeSettings();
    const text = table(rows.map((setting) => [setting.name, setting.default, setting.meaning]));
    print(context, input, { json: rows, text });
    return Promise.resolve();
  },
};

/** THE table of commands; the longest words that the arguments begin with select one. */
export const commands: readonly Command[] = [
  ...nodeCommands,
  ...deployCommands,
  ...stateCommands,
  ...logCommands,
  ...consoleCommands,
  ...templateCommands,
  settings,
];

/** All commands, or those that begin with these words. */
export function usage(prefix: readonly string[] = []): string {
  const chosen = commands.filter((command) => startsWith(command.words.split(' '), prefix));
  const rows = chosen.map((command) => [
    `  baton ${[command.words, ...(command.operands ?? [])].join(' ')}`,
    command.meaning,
  ]);
  const end =
    'Every command takes -o json and --help. The conductor is found at BATON_URL (default http://127.0.0.1:6385).';
  return `usage:\n${table(rows)}${end}\n`;
}

/**
 * Runs what the arguments say.
 * @throws AppError `invalid_argument` with what would be right; whatever the command throws.
 */
export async function runCommand(context: CommandContext, args: readonly string[]): Promise<void> {
  const command = commands
    .filter(({ words }) => startsWith(args, words.split(' ')))
    .sort((a, b) => b.words.length - a.words.length)[0];
  if (command) {
    const input = parseInput(command, args.slice(command.words.split(' ').length));
    if (input.values['help'] === true) context.screen.write(helpText(command));
    else await command.run(context, input);
    return;
  }
  const words = args.filter((word) => !['--help', '-h', 'help'].includes(word));
  const isGroup = commands.some((each) => startsWith(each.words.split(' '), words));
  if (isGroup && words.length < args.length) {
    context.screen.write(usage(words));
    return;
  }
  const fault = args.length === 0 ? '' : `no such command: ${args.join(' ')}\n`;
  throw new AppError('invalid_argument', `${fault}${usage(isGroup ? words : [])}`);
}

function startsWith(words: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((word, index) => words[index] === word);
}
