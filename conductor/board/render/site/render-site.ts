import type { ActionAnswer, ActionGroupAnswer, ActionNodeAnswer, ActionStepAnswer } from '#conductor/api/actions.ts';
import { formatClock, formatMoment } from '#conductor/board/render/clock.ts';
import { foreign, type Html, type HtmlValue, html, joined, nothing, renderTime } from '#conductor/board/render/html.ts';
import { renderNodeLink } from '#conductor/board/render/render-board.ts';
import { renderSome, renderTable, type TableRow } from '#conductor/board/render/render-table.ts';
import { renderCommand, renderProse } from '#conductor/board/render/render-words.ts';
import { drawGraph, isPartial, partialShape, stageShapes } from '#conductor/board/render/site/draw-graph.ts';
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
export function renderSite(picture: SitePicture, now: Date): readonly Html[] {
  const { action, actions } = picture;
  if (!action)
    return [
      html`<div class="empty"><p>No site action yet.</p><p>${renderCommand('baton site deploy')} commits documents and starts one; of documents that are committed, one is started here.</p></div>`,
    ];
  const { groups = [] } = action;
  return [
    renderHead(action, now),
    drawGraph(groups),
    renderGroups(groups, now),
    html`${renderNodes(picture, now)}${renderReport(action)}${renderActions(actions, action.id)}`,
  ];
}

function renderHead(action: ActionAnswer, now: Date): Html {
  const { name, action_lifecycle: state, committed_rev_id: revision, user, started_at: since, ended_at: end } = action;
  const failures = action.nodes_by_status?.failure ?? 0;
  const isWhole = state !== 'Complete' || failures === 0;
  const [shape, status] = isWhole ? lifecycles[state] : ([partialShape, 'slow'] as const);
  const facts: readonly HtmlValue[] = [
    `revision ${revision}`,
    ...(user === null ? [] : [html`started by ${foreign(user)}`]),
    ...(since === null
      ? []
      : [html`${renderTime(since, formatDuration(spanMs(since, end, now)))}${end !== null && ' in all'}`]),
    ...runnerOf(action),
  ];
  const error = action.error !== null && html`<p class="failed">${foreign(action.error)}</p>`;
  const steps = action.steps.map((step) => {
    const took = step.started_at !== null && ` ${formatDuration(spanMs(step.started_at, step.ended_at, now))}`;
    const why = step.error !== null && html`: ${foreign(step.error)}`;
    return html`<li class="${step.state}">${stepShapes[step.state]} ${foreign(step.id)}<small>${took}</small>${why}</li>`;
  });
  return html`<h3 class="action-line">${name} <span class="pill ${status}">${shape} ${state}${!isWhole && `, ${failures} failed`}</span> <code>${action.id}</code></h3>
    <p>${joined(facts, ' · ')}</p>${error}<ol class="steps">${steps}</ol>${renderTotals(action)}`;
}

function runnerOf({ ended_at: end, runner }: ActionAnswer): HtmlValue[] {
  if (end !== null || runner === undefined) return [];
  if (runner === null) return [html`<b class="failed">no conductor runs it</b>`];
  const name = foreign(runner.conductor);
  return [
    runner.lease_valid ? html`run by ${name}` : html`<b class="failed">${name} is silent; another takes over</b>`,
  ];
}

function renderTotals({ nodes_by_status: counts, groups = [] }: ActionAnswer): Html {
  if (!counts) return nothing;
  const all = Object.values(counts).reduce((sum, each) => sum + each, 0);
  const ended = groups.filter(({ stage }) => stage === 'success' || stage === 'failure').length;
  const failed = html`<b${counts.failure > 0 && html` class="failed"`}>${counts.failure} failed</b>`;
  return html`<p><b>${counts.success}</b> of <b>${all}</b> nodes done, <b>${counts.prepared}</b> prepared, ${failed}, <b>${counts.not_started}</b> not begun; <b>${ended}</b> of <b>${groups.length}</b> groups ended</p>`;
}

function renderGroups(groups: readonly ActionGroupAnswer[], now: Date): Html {
  if (groups.length === 0) return nothing;
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
    const isHalf = isPartial(group);
    const status =
      stage === 'failure'
        ? 'failed'
        : isHalf
          ? 'slow'
          : stage === 'success'
            ? 'succeeded'
            : since === null
              ? 'idle'
              : 'working';
    const failed = counts.failure > 0 && html`, <b class="failed">${counts.failure} failed</b>`;
    const took = since === null ? '' : renderTime(since, formatDuration(spanMs(since, end, now)));
    const cells = [
      html`<span class="status">${isHalf ? partialShape : stageShapes[stage]} ${stage.replace('_', ' ')}</span>`,
      html`${foreign(name)}${critical && html` <small>critical</small>`}`,
      foreign(group.depends_on.join(', ')),
      html`${counts.success} of ${size}${failed}${group.working > 0 && `, ${group.working} at work`}`,
      took,
      whyOf(group),
    ];
    return { status, cells };
  });
  return renderTable(['Stage', 'Group', 'After', 'Nodes done', 'For', 'Why'], rows);
}

function whyOf({ waiting_for: waits, reason, misses }: ActionGroupAnswer): Html {
  const reasons: readonly HtmlValue[] = [
    ...(waits.length === 0 ? [] : [html`waits for ${foreign(waits.join(', '))}`]),
    ...(reason === null ? [] : [foreign(reason)]),
    ...(reason === null
      ? misses.map(
          ({ criterion, needed, actual }) => `${criterion.replaceAll('_', ' ')}: needs ${needed}, has ${actual}`,
        )
      : []),
  ];
  return joined(reasons, '; ');
}

function renderNodes({ failed, working, uuidOf }: SitePicture, now: Date): Html {
  const table = (title: string, nodes: readonly ActionNodeAnswer[], status: string): Html => {
    if (nodes.length === 0) return nothing;
    const row = ({ name, group, doing, reason, since }: ActionNodeAnswer): TableRow => {
      const uuid = uuidOf(name);
      const link = uuid === undefined ? foreign(name) : renderNodeLink(uuid, name);
      const took = since === null ? '' : renderTime(since, formatDuration(spanMs(since, null, now)));
      return { status, cells: [link, foreign(group ?? ''), took, renderProse(doing ?? reason)] };
    };
    const rows = renderSome(['Node', 'Group', 'Since', 'What'], nodes, { most: listedNodes, row });
    return html`<h3>${title}: ${nodes.length}</h3>${rows}`;
  };
  return html`${table('Nodes that failed', failed, 'failed')}${table('Nodes at work', working, 'working')}`;
}

/**
 * Renders what steps have noted, the final report included, what is wrong with the documents, and who asked for what.
 */
function renderReport({ steps, notes, validations = [], command_audit: commands = [] }: ActionAnswer): Html {
  const all = [...notes, ...steps.flatMap((step) => step.notes)].toSorted(
    (a, b) => Date.parse(a.at) - Date.parse(b.at),
  );
  const lines = all.map(
    ({ at, subject, text }) =>
      html`<li>${renderTime(at, formatClock(at))} <span>${subject !== null && html`<b>${foreign(subject)}</b>: `}<span class="lines">${renderProse(text)}</span></span></li>`,
  );
  const faults = validations.map(
    ({ level, details }) =>
      html`<li class="${level === 'Error' ? 'failed' : ''}"><span>${renderProse(details)}</span></li>`,
  );
  const asked = commands.map(
    ({ command, user, datetime }) =>
      html`<li>${renderTime(datetime, formatClock(datetime))} <span>${foreign(command)}${user !== null && html` by ${foreign(user)}`}</span></li>`,
  );
  const list = (title: string, items: readonly Html[]): Html =>
    items.length === 0 ? nothing : html`<h3>${title}</h3><ol class="history">${items}</ol>`;
  return html`${list('Report', lines)}${list('Documents', faults)}${list('Asked for', asked)}`;
}

function renderActions(actions: readonly ActionAnswer[], shown: string): Html {
  const rows = actions.map(({ id, name, action_lifecycle: state, committed_rev_id: revision, timestamp: at, user }) => {
    const [shape, status] = lifecycles[state];
    const link = html`<a data-row id="to-${id}" href="#site/${encodeURIComponent(id)}"${id === shown && html` aria-current="true"`}>${name}</a>`;
    const asked = renderTime(at, formatMoment(at));
    const cells = [
      html`<span class="status">${shape} ${state}</span>`,
      link,
      String(revision),
      asked,
      foreign(user ?? ''),
    ];
    return { status, cells };
  });
  return html`<h3>Actions</h3>${renderTable(['State', 'Action', 'Revision', 'Asked for', 'By'], rows)}`;
}
