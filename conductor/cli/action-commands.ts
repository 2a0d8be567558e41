import { teardownPlanLines } from '#conductor/cli/action-teardown-plan.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  listOption,
  numberOption,
  pathOperand,
  textOption,
  usageError,
} from '#conductor/cli/command.ts';
import { isReport, noteLines } from '#conductor/cli/describe-action-changes.ts';
import { printable } from '#conductor/cli/fit-screen.ts';
import { cell, print, table, tableFor } from '#conductor/cli/print.ts';
import { readTimeout } from '#conductor/cli/provision.ts';
import { renderAction } from '#conductor/cli/render-action.ts';
import { concludeAction, renderActionReport } from '#conductor/cli/render-action-report.ts';
import { actionsPath, getAction, listActionNodes, watchAction } from '#conductor/cli/watch-action.ts';
import type { ActionAnswer } from '#conductor/sites/actions/action-answer.ts';
import type { TeardownNodeView } from '#conductor/sites/actions/teardown-plan/view-teardown-plan.ts';
import { AppError } from '#shared/errors/app-error.ts';

const waitOptions = {
  wait: { meaning: 'show the groups as they are deployed until the action has ended, then the report' },
  timeout: { value: 'SECONDS', meaning: 'with --wait: stop waiting then; the action goes on' },
} as const;

/** `target_nodes=n1,n2`, `continue-on-fail=true`: the conductor knows which there are. */
function readParameters(input: CommandInput): Record<string, unknown> {
  const given = listOption(input, 'param').map((text) => {
    const [, key = '', value = ''] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
    if (key === '') throw usageError(`--param ${text}: it must be NAME=VALUE, target_nodes=n1,n2`);
    return [key, value] as const;
  });
  const allowed = flagOption(input, 'allow-intermediate-commits') ? { 'allow-intermediate-commits': true } : {};
  const dry = flagOption(input, 'dry-run') ? { dry_run: true } : {};
  return { ...Object.fromEntries(given), ...allowed, ...dry };
}

async function create(context: CommandContext, input: CommandInput): Promise<void> {
  readTimeout(input);
  const [name] = input.operands;
  const made = (await context.client.call('POST', actionsPath, { name, parameters: readParameters(input) })) ?? {};
  if (flagOption(input, 'dry-run')) {
    const groups = made['groups'] as {
      readonly name: string;
      readonly critical: boolean;
      readonly members: string[];
    }[];
    const rows = groups.map((group) => [group.name, group.critical ? 'critical' : '', group.members.join(',') || '-']);
    const warnings = (made['validations'] as readonly { readonly level: string; readonly message: string }[])
      .filter(({ level }) => level === 'Warning')
      .map(({ message }) => `Warning ${message}\n`);
    const nodes = made['nodes'] as readonly TeardownNodeView[] | undefined;
    const text = nodes
      ? teardownPlanLines({ ...made, nodes }).join('\n') + '\n' + warnings.join('')
      : table([['group', '', 'nodes'], ...rows]) + warnings.join('');
    print(context, input, { json: made, text });
    return;
  }
  const id = cell(made['id']);
  if (flagOption(input, 'wait')) {
    await follow(context, input, id);
    return;
  }
  print(context, input, { json: made, text: `${name} ${id} started; baton action watch ${id} shows it\n` });
}

/** Until its end, then the report. @throws AppError `command_failed` unless it is complete: then a critical group failed */
async function follow(context: CommandContext, input: CommandInput, id: string): Promise<void> {
  const quiet = input.document !== undefined;
  const action = await watchAction(context.client, id, { ...context, quiet, timeoutMs: readTimeout(input) });
  const nodes = await listActionNodes(context.client, id);
  const report = renderActionReport(action, nodes, context.clock.now());
  // what sets the report off from the tree above it
  const text = ['', ...report].map((line) => `${printable(line)}\n`).join('');
  print(context, input, { json: { action, nodes }, text });
  if (action.action_lifecycle === 'Complete') return;
  // the report has said why
  const why = quiet ? `: ${concludeAction(action)}` : '';
  throw new AppError('command_failed', `${action.name} is ${action.action_lifecycle}${why}`);
}

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const limit = numberOption(input, 'limit');
  const query = limit === undefined ? '' : `?limit=${limit}`;
  const rows = ((await context.client.call('GET', `${actionsPath}${query}`)) ?? []) as unknown as ActionAnswer[];
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
  const nodes = action.ended_at === null ? [] : await listActionNodes(context.client, id);
  const size = { columns: context.screen.size().columns, rows: Number.POSITIVE_INFINITY };
  const now = context.clock.now();
  const notes = [...action.notes, ...action.steps.flatMap((step) => (isReport(step) ? [] : step.notes))]
    .sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
    .flatMap((note) => noteLines(note).map((line, index) => `${index === 0 ? note.at : ' '.repeat(24)}  ${line}`));
  const lines = [
    ...renderAction(action, { now, size }),
    ...(notes.length === 0 ? [] : ['', ...notes]),
    ...(action.ended_at === null ? [] : ['', ...renderActionReport(action, nodes, now)]),
  ];
  print(context, input, { json: action, text: lines.map((line) => `${printable(line)}\n`).join('') });
}

async function nodes(context: CommandContext, input: CommandInput): Promise<void> {
  const [id = ''] = input.operands;
  const wishes = ['group', 'status'].flatMap((name) => {
    const value = textOption(input, name);
    return value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`];
  });
  const query = [...wishes, ...(flagOption(input, 'working') ? ['working=true'] : [])].join('&');
  const rows = await listActionNodes(context.client, id, query === '' ? '' : `?${query}`);
  const cells = rows.map((row) => [
    row.name,
    row.status,
    cell(row.phase),
    cell(row.group),
    row.doing ?? row.reason ?? '',
  ]);
  print(context, input, {
    json: rows,
    text: tableFor(context.screen, [['name', 'status', 'phase', 'group', 'doing, or why'], ...cells]),
  });
}

async function watch(context: CommandContext, input: CommandInput): Promise<void> {
  readTimeout(input);
  await follow(context, input, input.operands[0] ?? '');
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
  {
    words: 'action create',
    operands: ['NAME'],
    options: {
      param: { value: 'NAME=VALUE', repeats: true, meaning: 'a parameter of the action: target_nodes=n1,n2' },
      'allow-intermediate-commits': { meaning: 'although commits lie between the last site action and this one' },
      'dry-run': {
        meaning: 'only say which groups would be deployed with which nodes, or all that a teardown does to each node',
      },
      ...waitOptions,
    },
    meaning: 'start an action: deploy_site, update_site, redeploy_server, teardown_server, relabel_nodes, verify_site',
    details:
      'It works from the committed documents; redeploy_server from those of the last action that succeeded, unless\n' +
      'target-revision says another. One action runs at a time. With --wait it ends with 0 when the action is complete:\n' +
      'no critical group has failed. A bar has █ deployed, ▒ prepared, x failed, ░ nothing yet.',
    run: create,
  },
  {
    words: 'action list',
    options: { limit: { value: 'N', meaning: 'only so many' } },
    meaning: 'actions, the newest first',
    run: list,
  },
  {
    words: 'action show',
    operands: one,
    options: { verbosity: { value: '0-5', meaning: 'how much of what has happened is told (default: 1)' } },
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
    options: { timeout: waitOptions.timeout },
    meaning: 'show an action until it has ended, then the report',
    run: watch,
  },
  {
    words: 'action pause',
    operands: one,
    meaning: 'begin nothing new; nodes at work end their phase',
    run: control('pause', 'pause asked for; nodes at work end their phase'),
  },
  { words: 'action unpause', operands: one, meaning: 'go on', run: control('unpause', 'it goes on') },
  {
    words: 'action stop',
    operands: one,
    meaning: 'break off what is at work, and end the action',
    run: control('stop', 'stop asked for; nodes at work are broken off'),
  },
  {
    words: 'action logs',
    operands: ['ACTION', '[STEP]'],
    meaning: 'what has happened in each step, or one, a line each',
    run: logs,
  },
];
