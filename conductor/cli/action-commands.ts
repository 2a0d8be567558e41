import type { ActionAnswer, ActionNodeAnswer } from '#conductor/api/actions.ts';
import { callFor } from '#conductor/cli/api-client.ts';
import { describeForCli } from '#conductor/cli/cli-words.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  numberOption,
  pathOperand,
  textOption,
} from '#conductor/cli/command.ts';
import { createActionCommand } from '#conductor/cli/create-action-command.ts';
import { isReport, noteLines } from '#conductor/cli/describe-action-changes.ts';
import { printable } from '#conductor/cli/fit-screen.ts';
import { followAction } from '#conductor/cli/follow-action.ts';
import { cell, print, table, tableFor } from '#conductor/cli/print.ts';
import { readTimeout } from '#conductor/cli/provision.ts';
import { renderAction } from '#conductor/cli/render-action.ts';
import { renderActionReport } from '#conductor/cli/render-action-report.ts';
import { actionsPath, getAction, listActionNodes } from '#conductor/cli/watch-action.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { nameSome } from '#shared/name-some.ts';
import { didYouMean } from '#shared/nearest-word.ts';

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const limit = numberOption(input, 'limit');
  const query = limit === undefined ? '' : `?limit=${limit}`;
  const rows = (await callFor<readonly ActionAnswer[]>(context.client, 'GET', `${actionsPath}${query}`)) ?? [];
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
  const nodes = await listActionNodes(context.client, id, isOver ? '' : '?working=true');
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

/** Of a node at work its status is what it was before, and no news. */
function statusOf({ status, phase }: ActionNodeAnswer): string {
  if (phase === null) return status;
  return phase === 'prepare' ? 'preparing' : 'deploying';
}

async function nodes(context: CommandContext, input: CommandInput): Promise<void> {
  const [id = ''] = input.operands;
  const filters = ['group', 'status'].flatMap((name) => {
    const value = textOption(input, name);
    return value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`];
  });
  const query = [...filters, ...(flagOption(input, 'working') ? ['working=true'] : [])].join('&');
  const rows = await listActionNodes(context.client, id, query === '' ? '' : `?${query}`);
  const group = textOption(input, 'group');
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

function control(verb: 'pause' | 'unpause' | 'stop', done: string): Command['run'] {
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
    options: { limit: { value: 'N', meaning: 'only so many' } },
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
    meaning: 'nodes of an action, what they do, and why they failed',
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
    meaning: 'begin nothing new; nodes at work end their phase, of a teardown the act they are at',
    run: control('pause', 'pause requested; nodes at work end their phase, of a teardown the act that they are at'),
  },
  { words: 'action unpause', operands: one, meaning: 'go on', run: control('unpause', 'it goes on') },
  {
    words: 'action stop',
    operands: one,
    meaning: 'break off what is at work, and end the action',
    run: control('stop', 'stop requested; nodes at work are aborted'),
  },
  {
    words: 'action logs',
    operands: ['ACTION', '[STEP]'],
    meaning: 'what has happened in each step, or one, a line each',
    run: logs,
  },
];
