import type { ActionAnswer, ActionDryRun } from '#conductor/api/actions.ts';
import { callFor } from '#conductor/cli/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  listOption,
  usageError,
} from '#conductor/cli/command.ts';
import { actionWaitOptions, followAction } from '#conductor/cli/follow-action.ts';
import { cell, print, table } from '#conductor/cli/print.ts';
import { readTimeout } from '#conductor/cli/provision.ts';
import { actionsPath } from '#conductor/cli/watch-action.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * `target_nodes=n1,n2`, `continue-on-fail=true`: the conductor knows which there are.
 * @throws AppError `invalid_argument` for one that is given twice: which of the two is meant is nobody's to guess
 */
function readParameters(input: CommandInput): Record<string, unknown> {
  const parameters: Record<string, unknown> = {};
  const give = (option: string, key: string, value: unknown): void => {
    if (Object.hasOwn(parameters, key)) {
      const lists = key === 'target_nodes' || key === 'server-name';
      throw usageError(`${option}: given twice; ${lists ? `${key}=n1,n2 names several` : 'give it once'}`);
    }
    parameters[key] = value;
  };
  for (const text of listOption(input, 'param')) {
    const [, key = '', value = ''] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
    if (key === '') throw usageError(`--param ${text}: it must be NAME=VALUE, target_nodes=n1,n2`);
    give(`--param ${key}`, key, value);
  }
  if (flagOption(input, 'allow-intermediate-commits')) {
    give('--allow-intermediate-commits', 'allow-intermediate-commits', true);
  }
  if (flagOption(input, 'dry-run')) give('--dry-run', 'dry_run', true);
  return parameters;
}

/** @throws AppError `conflict` when the action would be refused */
async function printDryRun(context: CommandContext, input: CommandInput, made: ActionDryRun): Promise<void> {
  const { teardownPlanLines } = await import('#conductor/cli/action-teardown-plan.ts');
  const { groups, validations, nodes, remarks = [] } = made;
  const rows = groups.map((group) => [group.name, group.critical ? 'critical' : '', group.members.join(',') || '-']);
  const warnings = validations
    .filter(({ level }) => level === 'Warning')
    .map(({ message }) => `Warning ${message}\n`)
    .join('');
  const text = nodes
    ? `${teardownPlanLines({ ...made, nodes }).join('\n')}\n${warnings}`
    : table([['group', '', 'nodes'], ...rows]) + remarks.map((each) => `${each}\n`).join('') + warnings;
  print(context, input, { json: made, text });
  const refused = (nodes ?? []).filter((node) => node.refused !== null).map(({ name }) => name);
  if (made.refused !== undefined) {
    throw new AppError('conflict', `${cell(input.operands[0])} would be refused: ${made.refused}`);
  }
  if (refused.length === 0) return;
  throw new AppError('conflict', `${cell(input.operands[0])} would be refused because of ${refused.join(', ')}`);
}

async function create(context: CommandContext, input: CommandInput): Promise<void> {
  readTimeout(input);
  const [name] = input.operands;
  const made = await callFor<ActionAnswer | ActionDryRun>(context.client, 'POST', actionsPath, {
    name,
    parameters: readParameters(input),
  });
  if (!made) throw new AppError('internal', `create action ${cell(name)}: the conductor answered nothing`);
  if (!('id' in made)) {
    await printDryRun(context, input, made);
    return;
  }
  const id = made.id;
  if (flagOption(input, 'wait')) {
    await followAction(context, input, id);
    return;
  }
  print(context, input, { json: made, text: `${name} ${id} started; baton action watch ${id} shows it\n` });
}

export const createActionCommand: Command = {
  words: 'action create',
  operands: ['NAME'],
  options: {
    param: { value: 'NAME=VALUE', repeats: true, meaning: 'a parameter of the action: target_nodes=n1,n2' },
    'allow-intermediate-commits': { meaning: 'although commits lie between the last site action and this one' },
    'dry-run': {
      meaning:
        'only say which groups would be deployed with which nodes, or all that a teardown does to each node; ' +
        'it ends with 1 when the action would be refused',
    },
    ...actionWaitOptions,
  },
  meaning: 'start an action: deploy_site, update_site, redeploy_server, teardown_server, relabel_nodes, verify_site',
  details:
    'It works from the committed documents; redeploy_server from those of the last action that succeeded. Where there is ' +
    'a parameter target-revision, it says another. One action runs at a time. With --wait it ends with 0 when the action ' +
    'is complete: no critical group has failed. A bar has █ deployed, ▒ prepared, x failed, ░ nothing yet.',
  helpTables: async () => (await import('#conductor/cli/action-parameter-help.ts')).actionParameterTables(),
  run: create,
};
