import type { ActionRehearsal, RehearsedTimes } from '#conductor/api/rehearsal.ts';
import { answerFor } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  listOption,
  numberOption,
} from '#conductor/cli/shell/command.ts';
import { formatDuration } from '#conductor/cli/shell/format-units.ts';
import { cell, print, table } from '#conductor/cli/shell/print.ts';
import { readParameters } from '#conductor/cli/sites/action-parameters.ts';
import { actionsPath } from '#conductor/cli/sites/follow-action.ts';

async function rehearse(context: CommandContext, input: CommandInput): Promise<void> {
  const [name] = input.operands;
  const request = { name, parameters: readParameters(input) };
  const query = new URLSearchParams({ rehearse: 'true' });
  for (const key of ['runs', 'seed'] as const) {
    const value = numberOption(input, key, key === 'seed' ? 0 : 1);
    if (value !== undefined) query.set(key, String(value));
  }
  for (const failure of listOption(input, 'fail')) query.append('fail', failure);
  const path = `${actionsPath}?${query.toString()}`;
  const made = await answerFor<ActionRehearsal>(context.client, `rehearse ${cell(name)}`, 'POST', path, request);
  const lines = rehearsalLines(made, flagOption(input, 'nodes'));
  print(context, input, { json: made, text: lines.map((line) => `${line}\n`).join('') });
}

/** `12 m 05 s`; behind `~` where it follows from a time that is assumed. Pure. */
function timeText(times: RehearsedTimes | null, key: 'median_seconds' | 'p90_seconds'): string {
  if (times === null) return '-';
  return `${times.is_assumed ? '~' : ''}${formatDuration(times[key] * 1000)}`;
}

/** The times of a group or node, and the shares of the runs in which it succeeds and fails. */
function cells(row: ActionRehearsal['groups'][number] | ActionRehearsal['nodes'][number]): string[] {
  return [
    timeText(row.begins, 'median_seconds'),
    timeText(row.begins, 'p90_seconds'),
    timeText(row.ends, 'median_seconds'),
    timeText(row.ends, 'p90_seconds'),
    `${row.success_percent} %`,
    `${row.failure_percent} %`,
  ];
}

const titles = ['begins', '(90 %)', 'ends', '(90 %)', 'succeeds', 'fails'];

/** A rehearsal as lines of text. Pure. */
function rehearsalLines(made: ActionRehearsal, withNodes: boolean): string[] {
  const { name, committed_rev_id: revision, runs, seed, ends, groups, nodes } = made;
  const groupRows = groups.map((group) => [group.name, ...cells(group), String(group.most_out.most)]);
  const nodeRows = nodes.map((node) => [node.name, ...cells(node), node.remark ?? node.flows.join(', ')]);
  const rowsOf = (rows: readonly string[][]): string[] => table(rows).trimEnd().split('\n');
  const end =
    ends === null
      ? 'comes to its end in no run'
      : `ends after ${timeText(ends, 'median_seconds')}, in 90 % of the runs within ${timeText(ends, 'p90_seconds')}`;
  return [
    `${name}, revision ${revision}, rehearsed ${runs} times with seed ${seed}; nothing was started`,
    `it ${end}; no critical group fails in ${made.success_percent} %`,
    '',
    ...rowsOf([['group', ...titles, 'most out'], ...groupRows]),
    ...(withNodes ? ['', ...rowsOf([['node', ...titles, 'flows, or why not'], ...nodeRows])] : []),
    '',
    ...describePath(made.critical_path),
    describeMostOut(made),
    ...made.pauses.map(({ group, reason, percent }) => `pauses by itself in ${percent} %: ${group}: ${reason}`),
    ...(made.stuck_percent > 0 ? [`waits for a window that does not open in ${made.stuck_percent} %`] : []),
    ...(withNodes ? [] : describeObstacles(nodes)),
    ...made.durations.flatMap(describeDuration),
    ...made.remarks,
    ...made.validations.filter(({ level }) => level === 'Warning').map(({ message }) => `Warning ${message}`),
  ];
}

function describePath(path: ActionRehearsal['critical_path']): string[] {
  if (path.length === 0) return [];
  const parts = path.map(({ group, node, begins_seconds: from, ends_seconds: to }) => {
    const last = node === null ? '' : ` (${node} is last)`;
    return `${group}${last} ${formatDuration(from * 1000)} to ${formatDuration(to * 1000)}`;
  });
  return [`its end follows from: ${parts.join(' → ')}`];
}

function describeMostOut({ most_out: all, racks }: ActionRehearsal): string {
  const named = racks.filter(({ rack }) => rack !== null);
  const each = named.map(({ rack, most_out: out }) => `${cell(rack)} ${out.most}`);
  return `most nodes out at once: ${all.most}${each.length === 0 ? '' : `; by rack: ${each.join(', ')}`}`;
}

/** Lists nodes to which nothing is done though the action would have them deployed. */
function describeObstacles(nodes: ActionRehearsal['nodes']): string[] {
  const certain = nodes.filter(({ failure_percent: fails, remark }) => fails === 100 && remark !== null);
  return certain.map(({ name, remark }) => `${name} fails: ${cell(remark)}`);
}

function describeDuration({
  flow,
  model,
  nodes,
  basis,
  flows,
  assumed_seconds: seconds,
}: ActionRehearsal['durations'][number]): string[] {
  if (basis === 'model') return [];
  const of = `${flow} of ${nodes} ${nodes === 1 ? 'node' : 'nodes'} (${model ?? 'model not known'})`;
  return seconds === null
    ? [`${of}: times of all models, from ${flows} recorded`]
    : [`${of}: none is recorded, ~ marks what follows from an assumed ${formatDuration(seconds * 1000)}`];
}

export const rehearseCommand: Command = {
  words: 'rehearse',
  operands: ['NAME'],
  options: {
    param: { value: 'NAME=VALUE', repeats: true, meaning: 'a parameter of the action: target_nodes=n1,n2' },
    'allow-intermediate-commits': { meaning: 'even if there are commits between the last site action and this one' },
    fail: {
      value: 'NODE@STEP|N%',
      repeats: true,
      meaning:
        'have a node fail there (n1@deploy.write_image, n1@clean, n1@prepare), or a share of all nodes somewhere',
    },
    runs: { value: 'N', meaning: 'how often it is rehearsed, 1 to 1000 (default: 100)' },
    seed: { value: 'N', meaning: 'what chance is drawn from: the same seed gives the same answer (default: 1)' },
    nodes: { meaning: 'show the nodes, too' },
  },
  meaning: 'say what an action would come to on the nodes as they are now, without starting it',
  details:
    "It runs the action's own decisions in time that is only counted: deploy_site, update_site, redeploy_server, " +
    'teardown_server. How long steps take and how often they fail is drawn from recorded flows of the same model, or else ' +
    'of all; ~ marks times that follow from an assumption. It is refused where the action would be.',
  helpTables: async () => (await import('#conductor/cli/sites/action-parameter-help.ts')).actionParameterTables(),
  run: rehearse,
};
