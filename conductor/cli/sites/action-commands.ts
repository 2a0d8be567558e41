import type { ActionAnswer, ActionDryRun, ActionNodeAnswer } from '#conductor/api/actions.ts';
import { readTimeout } from '#conductor/cli/nodes/provision.ts';
import { answerFor, callFor, withQuery } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  numberOption,
  pathOperand,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { cell, describeForCli, print, table, tableFor } from '#conductor/cli/shell/print.ts';
import { printable } from '#conductor/cli/shell/screen.ts';
import { readParameters } from '#conductor/cli/sites/action-parameters.ts';
import {
  actionsPath,
  actionWaitOptions,
  followAction,
  getAction,
  isReport,
  listActionNodes,
  noteLines,
  renderActionReport,
} from '#conductor/cli/sites/follow-action.ts';
import { renderAction } from '#conductor/cli/sites/render-action.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { didYouMean, nameSome } from '#shared/words.ts';

/** @throws AppError `conflict` when the action would be refused */
async function printDryRun(context: CommandContext, input: CommandInput, made: ActionDryRun): Promise<void> {
  const { teardownPlanLines } = await import('#conductor/cli/sites/render-action.ts');
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
  const request = { name, parameters: readParameters(input) };
  const what = `create action ${cell(name)}`;
  const made = await answerFor<ActionAnswer | ActionDryRun>(context.client, what, 'POST', actionsPath, request);
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

const createActionCommand: Command = {
  words: 'action create',
  operands: ['NAME'],
  options: {
    param: { value: 'NAME=VALUE', repeats: true, meaning: 'a parameter of the action: target_nodes=n1,n2' },
    'allow-intermediate-commits': { meaning: 'even if there are commits between the last site action and this one' },
    'dry-run': {
      meaning:
        'only say which groups would be deployed with which nodes, or all that a teardown does to each node; ' +
        'it ends with 1 when the action would be refused',
    },
    ...actionWaitOptions,
  },
  meaning: 'start an action: deploy_site, update_site, redeploy_server, teardown_server, relabel_nodes, verify_site',
  details:
    'It uses the committed documents; redeploy_server those of the last action that succeeded. The parameter ' +
    'target-revision, where there is one, chooses another revision. One action runs at a time. With --wait the exit code ' +
    'is 0 when no critical group has failed. In a bar: █ deployed, ▒ prepared, x failed, ░ nothing yet.',
  helpTables: async () => (await import('#conductor/cli/sites/action-parameter-help.ts')).actionParameterTables(),
  run: create,
};

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const path = withQuery(actionsPath, { limit: numberOption(input, 'limit') });
  const rows = (await callFor<readonly ActionAnswer[]>(context.client, 'GET', path)) ?? [];
  const cells = rows.map((row) => [
    row.id,
    row.name,
    row.action_lifecycle,
    String(row.committed_rev_id),
    row.timestamp.slice(0, 19),
    cell(row.user),
  ]);
  const text = table([['id', 'name', 'state', 'rev', 'created', 'by'], ...cells]);
  print(context, input, { json: rows, text });
}

async function show(context: CommandContext, input: CommandInput): Promise<void> {
  const [id = ''] = input.operands;
  const action = await getAction(context.client, id, numberOption(input, 'verbosity', 0) ?? 1);
  const isOver = action.ended_at !== null;
  const nodes = await listActionNodes(context.client, id, isOver ? {} : { working: 'true' });
  const size = { columns: context.screen.size().columns, rows: Number.POSITIVE_INFINITY };
  const now = context.clock.now();
  const notes = [...action.notes, ...action.steps.flatMap((step) => (isReport(step) ? [] : step.notes))]
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
    .flatMap((note) => noteLines(note).map((line, index) => `${index === 0 ? note.at : ' '.repeat(24)}  ${line}`));
  const lines = [
    ...renderAction(action, { now, size, working: isOver ? [] : nodes }),
    ...(notes.length === 0 ? [] : ['', ...notes]),
    ...(isOver ? ['', ...renderActionReport(action, nodes, now)] : []),
  ];
  print(context, input, { json: action, text: lines.map((line) => `${printable(line)}\n`).join('') });
}

/** Gives the status of a node; that of one at work is what it was before, and no news. */
function statusOf({ status, phase }: ActionNodeAnswer): string {
  if (phase === null) return status;
  return phase === 'prepare' ? 'preparing' : 'deploying';
}

async function nodes(context: CommandContext, input: CommandInput): Promise<void> {
  const [id = ''] = input.operands;
  const group = textOption(input, 'group');
  const working = flagOption(input, 'working') ? 'true' : undefined;
  const rows = await listActionNodes(context.client, id, { group, status: textOption(input, 'status'), working });
  if (rows.length === 0 && group !== undefined) await requireGroup(context, id, group);
  const cells = rows.map((row) => [
    row.name,
    statusOf(row),
    cell(row.phase),
    cell(row.group),
    row.remark ? describeForCli(row.remark) : '',
  ]);
  print(context, input, {
    json: rows,
    text: tableFor(context.screen, [['name', 'status', 'phase', 'group', 'doing, or why'], ...cells]),
  });
}

/** To the API a group that is none has no nodes. */
async function requireGroup({ client }: CommandContext, id: string, group: string): Promise<void> {
  const { groups = [] } = await getAction(client, id, 0);
  const names = groups.map(({ name }) => name);
  if (names.includes(group)) return;
  const there = names.length === 0 ? 'it has none' : `it has ${nameSome(names, 10)}`;
  throw new AppError('not_found', `--group: the action has no group ${group}${didYouMean(group, names)}; ${there}`);
}

async function watch(context: CommandContext, input: CommandInput): Promise<void> {
  readTimeout(input);
  await followAction(context, input, input.operands[0] ?? '');
}

function control(verb: 'pause' | 'unpause' | 'skip' | 'stop', done: string): Command['run'] {
  return async (context, input) => {
    await context.client.call('POST', `${actionsPath}/${pathOperand(input)}/control/${verb}`);
    const [id] = input.operands;
    print(context, input, { json: { action: id, asked: verb }, text: `action ${id}: ${done}\n` });
  };
}

async function logs(context: CommandContext, input: CommandInput): Promise<void> {
  const [id = '', step] = input.operands;
  const { steps } = await getAction(context.client, id, 0);
  const wanted = step === undefined ? steps.map((each) => each.id) : [step];
  const texts: { readonly step: string; readonly text: string }[] = [];
  for (const name of wanted) {
    const path = `${actionsPath}/${encodeURIComponent(id)}/steps/${encodeURIComponent(name)}/logs`;
    const { content } = await context.client.download(path);
    texts.push({ step: name, text: new TextDecoder().decode(content) });
  }
  const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
  const text = texts.map((each) => `${step === undefined ? `--- ${each.step}\n` : ''}${ended(each.text)}`).join('');
  print(context, input, { json: texts, text });
}

const one = ['ACTION'] as const;

export const actionCommands: readonly Command[] = [
  createActionCommand,
  {
    words: 'action list',
    options: { limit: { value: 'N', meaning: 'at most this many' } },
    meaning: 'actions, the newest first',
    run: list,
  },
  {
    words: 'action show',
    operands: one,
    options: { verbosity: { value: '0-5', meaning: 'how much of what has happened is shown (default: 1)' } },
    meaning: 'an action with its steps, groups, notes, and the report once it has ended',
    run: show,
  },
  {
    words: 'action nodes',
    operands: one,
    options: {
      group: { value: 'GROUP', meaning: 'only its members' },
      status: { value: 'STATUS', meaning: 'only not_started, prepared, success or failure' },
      working: { meaning: 'only those at work' },
    },
    meaning: 'nodes of an action, what they are doing, and why they failed',
    run: nodes,
  },
  {
    words: 'action watch',
    operands: one,
    options: { timeout: { value: 'SECONDS', meaning: 'stop watching then; the action goes on' } },
    meaning: 'show an action until it has ended, then the report',
    run: watch,
  },
  {
    words: 'action pause',
    operands: one,
    meaning: 'start nothing new; nodes at work finish their phase, in a teardown their current step',
    run: control('pause', 'pause requested; nodes at work end their phase, of a teardown the act that they are at'),
  },
  { words: 'action unpause', operands: one, meaning: 'resume a paused action', run: control('unpause', 'it goes on') },
  {
    words: 'action skip',
    operands: one,
    meaning: 'have groups go past the window, canaries or health gate that they wait for now',
    run: control('skip', 'skip requested; baton action show says what was skipped'),
  },
  {
    words: 'action stop',
    operands: one,
    meaning: 'abort work in progress, and end the action',
    run: control('stop', 'stop requested; nodes at work are aborted'),
  },
  {
    words: 'action logs',
    operands: ['ACTION', '[STEP]'],
    meaning: 'the log of each step, or of one',
    run: logs,
  },
];
