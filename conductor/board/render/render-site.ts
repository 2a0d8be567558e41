import type { ActionAnswer, ActionGroupAnswer, ActionNodeAnswer, ActionStepAnswer } from '#conductor/api/actions.ts';
import { drawGraph, stageShapes } from '#conductor/board/render/draw-graph.ts';
import { escapeHtml, foreign, renderTime } from '#conductor/board/render/render-board.ts';
import { renderSome, renderTable, type TableRow } from '#conductor/board/render/render-table.ts';
import { formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';

export interface SitePicture {
  /** The newest first. */
  readonly actions: readonly ActionAnswer[];
  /** With its groups; `undefined` = there was none yet. */
  readonly action: ActionAnswer | undefined;
  readonly failed: readonly ActionNodeAnswer[];
  readonly working: readonly ActionNodeAnswer[];
  readonly uuidOf: (nodeName: string) => string | undefined;
}

const stepShapes: Readonly<Record<ActionStepAnswer['state'], string>> = {
  pending: '·',
  running: '▶',
  success: '✓',
  failed: '✖',
  skipped: '–',
};
const lifecycles: Readonly<Record<ActionAnswer['action_lifecycle'], readonly [shape: string, status: string]>> = {
  Pending: ['…', 'waiting'],
  Processing: ['▶', 'working'],
  Paused: ['‖', 'slow'],
  Stopping: ['↓', 'slow'],
  Stopped: ['■', 'failed'],
  Complete: ['✓', 'succeeded'],
  Failed: ['✖', 'failed'],
};
const listedNodes = 200;

/** Head with steps, graph, table of groups, what became of nodes and the actions before. Pure. */
export function renderSite(picture: SitePicture, now: Date): readonly string[] {
  const { action, actions } = picture;
  if (!action)
    return [
      '<p>No site action yet. <code>baton site deploy</code> commits documents and starts one; of documents that are committed, one is started here.</p>',
    ];
  const { groups = [] } = action;
  return [
    renderHead(action, now),
    drawGraph(groups),
    renderGroups(groups, now),
    `${renderNodes(picture, now)}${renderReport(action)}${renderActions(actions, action.id)}`,
  ];
}

function renderHead(action: ActionAnswer, now: Date): string {
  const { name, action_lifecycle: state, committed_rev_id: revision, user, started_at: since, ended_at: end } = action;
  const [shape, status] = lifecycles[state];
  const facts = [
    `revision ${revision}`,
    ...(user === null ? [] : [`started by ${foreign(user)}`]),
    ...(since === null
      ? []
      : [`${renderTime(since, formatDuration(spanMs(since, end, now)))}${end === null ? '' : ' in all'}`]),
    ...runnerOf(action),
  ];
  const error = action.error === null ? '' : `<p class="failed">${foreign(action.error)}</p>`;
  const steps = action.steps.map((step) => {
    const took = step.started_at === null ? '' : ` ${formatDuration(spanMs(step.started_at, step.ended_at, now))}`;
    const why = step.error === null ? '' : `: ${foreign(step.error)}`;
    return `<li class="${step.state}">${stepShapes[step.state]} ${foreign(step.id)}<small>${took}</small>${why}</li>`;
  });
  return `<h3>${escapeHtml(name)} <span class="pill ${status}">${shape} ${state}</span> <code>${escapeHtml(action.id)}</code></h3>
    <p>${facts.join(' · ')}</p>${error}<ol class="steps">${steps.join('')}</ol>${renderTotals(action)}`;
}

function runnerOf({ ended_at: end, runner }: ActionAnswer): string[] {
  if (end !== null || runner === undefined) return [];
  if (runner === null) return ['<b class="failed">no conductor runs it</b>'];
  const name = foreign(runner.conductor);
  return [runner.lease_valid ? `run by ${name}` : `<b class="failed">${name} is silent; another takes over</b>`];
}

function renderTotals({ nodes_by_status: counts, groups = [] }: ActionAnswer): string {
  if (!counts) return '';
  const all = Object.values(counts).reduce((sum, each) => sum + each, 0);
  const ended = groups.filter(({ stage }) => stage === 'success' || stage === 'failure').length;
  return `<p><b>${counts.success}</b> of <b>${all}</b> nodes done, <b>${counts.prepared}</b> prepared, <b>${counts.failure}</b> failed, <b>${counts.not_started}</b> not begun; <b>${ended}</b> of <b>${groups.length}</b> groups ended</p>`;
}

function renderGroups(groups: readonly ActionGroupAnswer[], now: Date): string {
  if (groups.length === 0) return '';
  const rows = groups.map((group) => {
    const {
      name,
      critical,
      stage,
      nodes_by_status: counts,
      member_count: size,
      started_at: since,
      ended_at: end,
    } = group;
    const status =
      stage === 'failure' ? 'failed' : stage === 'success' ? 'succeeded' : since === null ? 'idle' : 'working';
    const failed = counts.failure > 0 ? `, ${counts.failure} failed` : '';
    const took = since === null ? '' : renderTime(since, formatDuration(spanMs(since, end, now)));
    const cells = [
      `<span class="status">${stageShapes[stage]} ${stage.replace('_', ' ')}</span>`,
      `${foreign(name)}${critical ? ' <small>critical</small>' : ''}`,
      foreign(group.depends_on.join(', ')),
      `${counts.success} of ${size}${failed}${group.working > 0 ? `, ${group.working} at work` : ''}`,
      took,
      whyOf(group),
    ];
    return { status, cells };
  });
  return renderTable(['Stage', 'Group', 'After', 'Nodes done', 'For', 'Why'], rows);
}

function whyOf({ waiting_for: waits, reason, misses }: ActionGroupAnswer): string {
  return [
    ...(waits.length === 0 ? [] : [`waits for ${foreign(waits.join(', '))}`]),
    ...(reason === null ? [] : [foreign(reason)]),
    ...(reason === null
      ? misses.map(
          ({ criterion, needed, actual }) => `${criterion.replaceAll('_', ' ')}: needs ${needed}, has ${actual}`,
        )
      : []),
  ].join('; ');
}

function renderNodes({ failed, working, uuidOf }: SitePicture, now: Date): string {
  const table = (title: string, nodes: readonly ActionNodeAnswer[], status: string): string => {
    if (nodes.length === 0) return '';
    const row = ({ name, group, doing, reason, since }: ActionNodeAnswer): TableRow => {
      const uuid = uuidOf(name);
      const link = uuid === undefined ? foreign(name) : `<a href="#node/${escapeHtml(uuid)}">${foreign(name)}</a>`;
      const took = since === null ? '' : renderTime(since, formatDuration(spanMs(since, null, now)));
      return { status, cells: [link, foreign(group ?? ''), took, foreign(doing ?? reason ?? '')] };
    };
    const rows = renderSome(['Node', 'Group', 'Since', 'What'], nodes, { most: listedNodes, row });
    return `<h3>${title}: ${nodes.length}</h3>${rows}`;
  };
  return `${table('Nodes that failed', failed, 'failed')}${table('Nodes at work', working, 'working')}`;
}

/**
 * Renders what steps have noted, the final report included, what is wrong with the documents, and who asked for what.
 */
function renderReport({ steps, notes, validations = [], command_audit: commands = [] }: ActionAnswer): string {
  const all = [...notes, ...steps.flatMap((step) => step.notes)].toSorted(
    (a, b) => Date.parse(a.at) - Date.parse(b.at),
  );
  const lines = all.map(
    ({ at, subject, text }) =>
      `<li>${renderTime(at, at.slice(11, 19))} ${subject === null ? '' : `<b>${foreign(subject)}</b>: `}<span class="lines">${foreign(text)}</span></li>`,
  );
  const faults = validations.map(
    ({ level, details }) => `<li class="${level === 'Error' ? 'failed' : ''}">${foreign(details)}</li>`,
  );
  const asked = commands.map(
    ({ command, user, datetime }) =>
      `<li>${renderTime(datetime, datetime.slice(11, 19))} ${foreign(command)}${user === null ? '' : ` by ${foreign(user)}`}</li>`,
  );
  const list = (title: string, items: readonly string[]): string =>
    items.length === 0 ? '' : `<h3>${title}</h3><ol class="history">${items.join('')}</ol>`;
  return `${list('Report', lines)}${list('Documents', faults)}${list('Asked for', asked)}`;
}

function renderActions(actions: readonly ActionAnswer[], shown: string): string {
  const rows = actions.map(({ id, name, action_lifecycle: state, committed_rev_id: revision, timestamp: at, user }) => {
    const [shape, status] = lifecycles[state];
    const link = `<a id="to-${escapeHtml(id)}" href="#site/${escapeHtml(id)}"${id === shown ? ' aria-current="true"' : ''}>${escapeHtml(name)}</a>`;
    const asked = renderTime(at, at.slice(0, 16).replace('T', ' '));
    const cells = [`<span class="status">${shape} ${state}</span>`, link, String(revision), asked, foreign(user ?? '')];
    return { status, cells };
  });
  return `<h3>Actions</h3>${renderTable(['State', 'Action', 'Revision', 'Asked for', 'By'], rows)}`;
}
