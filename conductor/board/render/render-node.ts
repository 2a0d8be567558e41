import type { FlowStepView, FlowView } from '#conductor/api/flows.ts';
import type { ArchivedFile } from '#conductor/board/data/read-archive.ts';
import { actionsFor, type Subject } from '#conductor/board/render/board-actions.ts';
import {
  type BoardNode,
  escapeHtml,
  foreign,
  renderMaintenance,
  renderProgress,
  renderTime,
} from '#conductor/board/render/render-board.ts';
import { type Hardware, renderHardware } from '#conductor/board/render/render-hardware.ts';
import { formatBytes, formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';
import { stepName } from '#conductor/model/planned-step.ts';

export interface HistoryLine {
  readonly created_at: string;
  readonly severity: string;
  readonly event: string;
  readonly user: string | null;
}

/** Parts that the page of a node is made of. */
export interface NodePicture {
  readonly node: BoardNode;
  /** Under way, or the last one. */
  readonly flow: FlowView | undefined;
  /** Newest first. */
  readonly history: readonly HistoryLine[];
  readonly hardware: Hardware;
  readonly mayChange: boolean;
  /** Once they are asked for. */
  readonly logs: readonly ArchivedFile[] | undefined;
}

const shapes: Readonly<Record<string, string>> = {
  pending: '·',
  running: '▶',
  waiting: '…',
  succeeded: '✓',
  failed: '✖',
  skipped: '–',
};

/** The page of one node. Pure. */
export function renderNode(picture: NodePicture, now: Date): string {
  const { node, flow, history, hardware, mayChange, logs } = picture;
  const power = node.power_state === null ? '' : `, ${escapeHtml(node.power_state)}`;
  const error = node.last_error === null ? '' : `<p class="failed">${foreign(node.last_error)}</p>`;
  return `<h2>${foreign(node.name ?? node.uuid)}</h2>
    <p>${escapeHtml(node.provision_state)}${power}${renderMaintenance(node)} <code>${escapeHtml(node.uuid)}</code></p>
    <p>${renderPlace(node)}</p>
    ${error}${flow ? renderFlow(flow, now, mayChange) : '<p>nothing was done with it yet</p>'}
    ${flow?.state === 'failed' || logs ? renderLogs(node.uuid, logs) : ''}
    ${renderHardware(hardware)}
    <h3>History</h3><ol class="history">${history.map(renderLine).join('') || '<li>none</li>'}</ol>`;
}

function renderPlace({ rack, resource_class: kind, driver, owner, conductor_group: group, traits }: BoardNode): string {
  const facts = { rack, class: kind, driver, owner, group, traits: traits.join(', ') };
  return Object.entries(facts)
    .flatMap(([name, value]) => (value === null || value === '' ? [] : [`<small>${name}</small> ${foreign(value)}`]))
    .join(' · ');
}

/** Pure. */
export function renderButtons(subject: Subject, mayChange: boolean): string {
  if (!mayChange) return '';
  const buttons = Object.entries(actionsFor(subject)).map(
    ([name, { title }]) => `<button type="button" id="act-${name}" data-action="${name}">${escapeHtml(title)}</button>`,
  );
  return buttons.join(' ');
}

function renderFlow(flow: FlowView, now: Date, mayChange: boolean): string {
  const took = formatDuration(spanMs(flow.started_at, flow.ended_at, now));
  const remarks = [
    ...(flow.held === null ? [] : [`held: ${flow.held}`]),
    ...(flow.on_hold === null ? [] : [`on hold for ${flow.on_hold}`]),
    ...(flow.abort_requested === null ? [] : [flow.abort_requested]),
    ...(flow.error === null ? [] : [flow.error]),
    ...(flow.advice === null ? [] : [`→ ${flow.advice}`]),
  ];
  const steps = flow.steps.map((step) => renderStep(step, now, mayChange));
  return `<h3>${escapeHtml(flow.kind)}: ${escapeHtml(flow.state)}, ${took}</h3>
    ${remarks.map((remark) => `<p>${foreign(remark)}</p>`).join('')}${renderBoot(flow)}
    <table><thead><tr><th>Status<th>Step<th>By<th>Took<th>Usually<th>What</tr></thead><tbody>${steps.join('')}</tbody></table>`;
}

/** Each file folded, with its end. */
function renderLogs(uuid: string, logs: readonly ArchivedFile[] | undefined): string {
  const download = `<a href="v1/nodes/${escapeHtml(uuid)}/flow/logs">download</a>`;
  const files = (logs ?? []).map(({ name, text, bytes }, index) => {
    const cut = text.length < bytes ? `<p>its end; the whole is in the ${download}</p>` : '';
    return `<details id="log-${index}"><summary>${foreign(name)} (${formatBytes(bytes)})</summary>${cut}<pre class="log" tabindex="0">${foreign(text)}</pre></details>`;
  });
  const button = logs ? '' : '<button type="button" id="read-logs" data-name="logs">Read them here</button> ';
  return `<h3>The agent’s logs</h3><p class="buttons">${button}${download}, where they could be collected</p>${files.join('')}`;
}

function renderBoot({ boot }: FlowView): string {
  if (boot.length === 0) return '';
  const events = boot.map(
    ({ event, detail, at }) =>
      `<li>${renderTime(at, at.slice(11, 19))} ${escapeHtml(event)}${detail === null ? '' : ` ${foreign(detail)}`}</li>`,
  );
  return `<h3>Boot</h3><ol class="history">${events.join('')}</ol>`;
}

function renderStep(step: FlowStepView, now: Date, mayChange: boolean): string {
  const isBusy = step.state === 'running' || step.state === 'waiting';
  const took = step.started_at === null ? '' : formatDuration(spanMs(step.started_at, step.ended_at, now));
  const left =
    step.wait_until === null
      ? ''
      : ` (at most ${formatDuration(spanMs(now.toISOString(), step.wait_until, now))} more)`;
  const waits = step.waiting_for === null ? '' : `waiting for ${foreign(step.waiting_for)}${left}`;
  const what = isBusy
    ? `${renderProgress(step.progress)}${waits}`
    : foreign(step.error ?? (step.state === 'pending' ? step.reason : ''));
  const state = isBusy ? 'working' : step.state;
  const usually = step.usual_seconds === null ? '' : formatDuration(step.usual_seconds * 1000);
  const title = escapeHtml(stepName(step));
  const skip =
    mayChange && step.may_skip
      ? ` <button type="button" id="skip-${escapeHtml(step.uuid)}" data-step="${escapeHtml(step.uuid)}" aria-label="Skip ${title}">Skip…</button>`
      : '';
  return `<tr class="${escapeHtml(state)}"><td><span class="status">${shapes[step.state] ?? '?'} ${escapeHtml(step.state)}</span>
    <td>${foreign(stepName(step))}<td>${step.in_band ? 'agent' : 'conductor'}<td>${took}<td>${usually}<td>${what}${skip}</tr>`;
}

function renderLine({ created_at: at, severity, event, user }: HistoryLine): string {
  const who = user === null ? '' : ` (${foreign(user)})`;
  const time = renderTime(at, at.replace('T', ' ').slice(0, 19));
  return `<li class="${severity === 'ERROR' ? 'failed' : ''}">${time} ${foreign(event)}${who}</li>`;
}
