import type { SettingInForce } from '#conductor/api/records.ts';
import { completionShells } from '#conductor/cli/completion.ts';
import { importCommands } from '#conductor/cli/import/import-commands.ts';
import { allocateCommand, allocationCommands } from '#conductor/cli/nodes/allocation-commands.ts';
import { createNodeCommand } from '#conductor/cli/nodes/create-nodes.ts';
import { deployCommands } from '#conductor/cli/nodes/deploy-commands.ts';
import { imageCommands } from '#conductor/cli/nodes/image-commands.ts';
import { networkCommands, portCommands } from '#conductor/cli/nodes/network-commands.ts';
import { nodeCommands, nodeListCommand } from '#conductor/cli/nodes/node-commands.ts';
import {
  firmwareCommand,
  hardwareCommands,
  historyCommand,
  inventoryDiffCommand,
  logCommands,
} from '#conductor/cli/nodes/node-view-commands.ts';
import { flowCommands, powerCommands } from '#conductor/cli/nodes/power-commands.ts';
import { stateCommands } from '#conductor/cli/nodes/state-commands.ts';
import { tpmCommands } from '#conductor/cli/nodes/tpm-commands.ts';
import {
  conductorCommands,
  databaseCommands,
  demoCommand,
  tokenCommands,
  webhookCommands,
} from '#conductor/cli/operator-commands.ts';
import { callFor } from '#conductor/cli/shell/api-client.ts';
import { settingsHelp } from '#conductor/cli/shell/client-settings.ts';
import {
  type Command,
  type CommandContext,
  type ConductorParts,
  type Connection,
  flagOption,
  pathOperand,
} from '#conductor/cli/shell/command.ts';
import { helpText, wrapPieces, wrapRows } from '#conductor/cli/shell/help-text.ts';
import { parseInput } from '#conductor/cli/shell/parse-input.ts';
import { print, table } from '#conductor/cli/shell/print.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { actionCommands } from '#conductor/cli/sites/action-commands.ts';
import { credentialCommands } from '#conductor/cli/sites/credential-commands.ts';
import { pluginCommands } from '#conductor/cli/sites/plugin-commands.ts';
import { receiptCommands } from '#conductor/cli/sites/receipt-commands.ts';
import { rehearseCommand } from '#conductor/cli/sites/rehearse-command.ts';
import { siteCommands, siteGroupsCommand } from '#conductor/cli/sites/site-commands.ts';
import { siteRevisionCommands } from '#conductor/cli/sites/site-revision-commands.ts';
import { teardownCommands } from '#conductor/cli/sites/teardown-commands.ts';
import { statusCommand } from '#conductor/cli/status-command.ts';
import { inspectionRuleCommands, runbookCommands, templateCommands } from '#conductor/cli/template-commands.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import { editDistance } from '#shared/words.ts';
import packageJson from '../../package.json' with { type: 'json' };

/** Written as programs have it; of this program, whatever the conductor is. */
const versionCommand: Command = {
  words: '--version',
  meaning: 'the version of this command line',
  offline: true,
  run: (context, input) => {
    const { version } = packageJson;
    print(context, input, { json: { version }, text: `baton ${version}\n` });
    return Promise.resolve();
  },
};

const consoleCommands: readonly Command[] = [
  {
    words: 'console',
    operands: ['NODE'],
    meaning: "a shell in the node's ramdisk, while one runs, or the machine's serial console; ~. leaves",
    details: "The conductor's configuration must allow it; the node's history says when it began and ended.",
    options: { serial: { meaning: 'the serial console through the BMC, once it is enabled' } },
    run: (context, input) => context.openConsole(pathOperand(input), input.values['serial'] ? 'serial' : 'shell'),
  },
];

const settings: Command = {
  words: 'settings',
  meaning: 'settings (environment) in force on the conductor, and their meaning; defaults where none answers',
  run: async (context, input) => {
    type Answer = { readonly settings: readonly SettingInForce[] };
    const asked = callFor<Answer>(context.client, 'GET', '/v1/settings');
    const answer = await asked.catch((error: unknown) => {
      if (errorCode(error) !== 'unavailable') throw error;
      context.notify?.('no conductor answers: these are the defaults');
      return undefined;
    });
    const rows = answer?.settings ?? (await context.describeSettings()).map((row) => ({ ...row, value: row.default }));
    const title = answer ? 'in force' : 'default';
    const lines = rows.map(({ name, value, meaning }) => [name, value, meaning]);
    print(context, input, { json: rows, text: table([['name', title, 'meaning'], ...lines]) });
  },
};

const completionCommands: readonly Command[] = completionShells.map(({ shell, render, use }) => ({
  words: `completion ${shell}`,
  meaning: `what ${shell} needs to complete commands, options and names of nodes`,
  details: use,
  offline: true,
  run: (context) => {
    context.screen.write(render(commands));
    return Promise.resolve();
  },
}));

interface CommandGroup {
  readonly title: string;
  readonly commands: readonly Command[];
}

/** THE table of commands; the longest words that the arguments begin with select one. */
const groups: readonly CommandGroup[] = [
  {
    title: 'See',
    commands: [
      statusCommand,
      nodeListCommand,
      inventoryDiffCommand,
      historyCommand,
      firmwareCommand,
      ...hardwareCommands,
      ...logCommands,
      ...consoleCommands,
    ],
  },
  {
    title: 'Nodes',
    commands: [
      createNodeCommand,
      ...nodeCommands,
      ...importCommands,
      ...portCommands,
      ...networkCommands,
      ...tpmCommands,
      ...credentialCommands,
      ...inspectionRuleCommands,
    ],
  },
  { title: 'Power and maintenance', commands: powerCommands },
  {
    title: 'Deploy',
    commands: [
      ...deployCommands,
      ...imageCommands,
      ...templateCommands,
      ...runbookCommands,
      allocateCommand,
      ...allocationCommands,
    ],
  },
  { title: 'Change the state of nodes', commands: [...stateCommands, ...flowCommands] },
  {
    title: 'Sites',
    commands: [
      ...siteCommands,
      ...siteRevisionCommands,
      siteGroupsCommand,
      rehearseCommand,
      ...actionCommands,
      ...pluginCommands,
    ],
  },
  { title: 'Tear down', commands: [...teardownCommands, ...receiptCommands] },
  {
    title: 'Operate Baton',
    commands: [...conductorCommands, ...databaseCommands, ...tokenCommands, ...webhookCommands, settings],
  },
  { title: 'This program', commands: [demoCommand, ...completionCommands, versionCommand] },
];

export const commands: readonly Command[] = groups.flatMap((group) => group.commands);

const examples: readonly (readonly [string, string])[] = [
  ['  baton status', 'the fleet on one screen'],
  ['  baton plan n1 --image URL', 'what a deploy would do; nothing is touched'],
  ['  baton deploy n1 --image URL --wait', ''],
  ['  baton power off --class small', 'lists the nodes; --yes acts on them'],
];

/** All commands, or those that begin with these words, for a screen of so many columns. */
export function usage(prefix: readonly string[] = [], columns = Number.POSITIVE_INFINITY): string {
  const isChosen = ({ words }: Command) => startsWith(words.split(' '), prefix);
  const chosen = groups.map(({ title, commands: all }) => ({ title, rows: all.filter(isChosen).map(usageRow) }));
  const sections = chosen.filter(({ rows }) => rows.length > 0);
  const end = 'Every command takes -o json, -o yaml and --help. From the environment:';
  const names = settingsHelp.map(([name, meaning]) => [`  ${name}`, meaning] as const);
  return [
    'usage:',
    ...sections.flatMap(({ title, rows }) => [
      ...(prefix.length === 0 ? ['', `${title}:`] : []),
      ...wrapRows(rows, columns),
    ]),
    ...(prefix.length === 0 ? ['', 'Examples:', ...wrapRows(examples, columns), ''] : []),
    ...wrapPieces(end.split(' '), columns),
    ...wrapRows(names, columns),
    '',
  ].join('\n');
}

function usageRow({ words, operands = [], meaning }: Command): readonly [string, string] {
  return [`  baton ${[words, ...operands].join(' ')}`, meaning];
}

/** Means that `run-baton.ts` has before a command is known. */
export interface CommandTerminal
  extends Pick<
    CommandContext,
    'screen' | 'clock' | 'imagesDirectory' | 'registryEnvironment' | 'notify' | 'onInterrupt' | keyof ConductorParts
  > {
  /** @throws AppError `invalid_argument` for settings that can't be used */
  connect(choice: { readonly insecure: boolean }): Connection;
}

const refuse = (): Promise<never> =>
  Promise.reject(new AppError('internal', 'a command that is marked as offline asks the conductor'));
const noConnection: Connection = { client: { call: refuse, download: refuse }, openConsole: refuse };

/**
 * Runs what the arguments say.
 * @throws AppError `invalid_argument` with what would be right; whatever the command throws.
 */
export async function runCommand(terminal: CommandTerminal, given: readonly string[]): Promise<void> {
  const args = commandFirst(given);
  const { screen } = terminal;
  const { columns } = screen.size();
  const command = commands
    .filter(({ words }) => startsWith(args, words.split(' ')))
    .sort((a, b) => b.words.length - a.words.length)[0];
  if (command) {
    const input = parseInput(command, args.slice(command.words.split(' ').length));
    if (input.values['help'] === true) {
      screen.write(helpText(command, columns, await command.helpTables?.()));
    } else {
      const connection = command.offline ? noConnection : terminal.connect({ insecure: flagOption(input, 'insecure') });
      await command.run({ ...terminal, ...connection }, input);
    }
    return;
  }
  const words = args.filter((word) => !['--help', '-h', 'help'].includes(word));
  const isGroup = commands.some((each) => startsWith(each.words.split(' '), words));
  if (isGroup && words.length < args.length) {
    screen.write(usage(words, columns));
    return;
  }
  if (isGroup || args.length === 0) throw usageError(usage(words, columns));
  if (words[0]?.startsWith('-'))
    throw usageError(`${words[0].split('=')[0]}: options come after the command; baton --help lists all`);
  throw usageError(noSuchCommand(words));
}

/** Puts options that every command has, and that were written before it, behind it: `-o json node list`. Pure. */
export function commandFirst(args: readonly string[]): readonly string[] {
  const leading: string[] = [];
  let at = 0;
  for (; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    const isWithValue = arg === '-o' || arg === '--output';
    if (!isWithValue && arg !== '--insecure' && !/^(--output=|-o.)/.test(arg)) break;
    leading.push(arg);
    const value = isWithValue ? args[at + 1] : undefined;
    if (value === undefined) continue;
    leading.push(value);
    at += 1;
  }
  return at < args.length ? [...args.slice(at), ...leading] : args;
}

/** Words of other programs, and the command that does it here. */
const elsewhere: Readonly<Record<string, string>> = {
  list: 'node list',
  ls: 'node list',
  get: 'node list',
  nodes: 'node list',
  show: 'node show',
  describe: 'node show',
  create: 'node create',
  enroll: 'node create',
  delete: 'node delete',
  why: 'status',
  top: 'status',
  info: 'status',
  ssh: 'console',
  events: 'history',
  release: 'undeploy',
};

function noSuchCommand(args: readonly string[]): string {
  const meant =
    nearestCommand(
      args,
      commands.map(({ words }) => words),
    ) ?? (Object.hasOwn(elsewhere, args[0] ?? '') ? elsewhere[args[0] ?? ''] : undefined);
  const [group = ''] = args;
  const isGroup = commands.some(({ words }) => words.startsWith(`${group} `));
  // what follows the command is none of it, and may be a secret
  const isElsewhere = meant !== undefined && meant === elsewhere[group];
  const given = args.slice(0, isElsewhere ? 1 : (meant?.split(' ').length ?? (isGroup ? 2 : 1))).join(' ');
  const lists = isGroup ? `baton ${group} --help lists those of ${group}` : 'baton --help lists all';
  return `no such command: ${given}; ${meant === undefined ? '' : `did you mean baton ${meant}? `}${lists}`;
}

function startsWith(words: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((word, index) => words[index] === word);
}

/** The command that was probably meant: at most two letters away, not another word altogether, and no other as near. Pure. */
export function nearestCommand(args: readonly string[], commands: readonly string[]): string | undefined {
  const near = commands
    .map((words) => {
      const given = args.slice(0, words.split(' ').length).join(' ');
      return { words, begins: words.startsWith(given), distance: editDistance(given, words) };
    })
    .filter(({ words, distance }) => distance <= 2 && distance * 2 < words.length);
  // what was cut off is nearer than what is another word: `power of` is no `power on`
  const best = near.some(({ begins }) => begins) ? near.filter(({ begins }) => begins) : near;
  const least = Math.min(...best.map(({ distance }) => distance));
  const nearest = best.filter(({ begins, distance }) => begins || distance === least);
  return nearest.length === 1 ? nearest[0]?.words : undefined;
}
