import type { FlowView } from '#conductor/api/flows.ts';
import type { ArchivedFile } from '#conductor/board/data/read-archive.ts';
import { actionsFor, type BoardAction, primaryAction, type Subject } from '#conductor/board/render/board-actions.ts';
import { formatMoment } from '#conductor/board/render/clock.ts';
import { adviseOnDistrust, describeDistrust, describeVerdict } from '#conductor/board/render/describe-attestation.ts';
import { foreign, type Html, html, joined, nothing, renderTime } from '#conductor/board/render/html.ts';
import { drawRate, type RateSample } from '#conductor/board/render/node/draw-rate.ts';
import { renderTimeline } from '#conductor/board/render/node/draw-timeline.ts';
import { type Hardware, renderHardware, renderHardwareFacts } from '#conductor/board/render/node/render-hardware.ts';
import type { NodePlan } from '#conductor/board/render/node/render-plans.ts';
import { renderPlans } from '#conductor/board/render/node/render-plans.ts';
import { renderStatus, statusOf } from '#conductor/board/render/node-status.ts';
import {
  type BoardNode,
  type BoardRow,
  renderHealth,
  renderMaintenance,
} from '#conductor/board/render/render-board.ts';
import { renderCommand, renderProse, renderWords } from '#conductor/board/render/render-words.ts';
import { formatBytes, formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';

export interface HistoryLine {
  readonly created_at: string;
  readonly severity: string;
  readonly event: string;
  readonly user: string | null;
}

/** Parts that the page of a node is made of. */
export interface NodePicture {
  readonly node: BoardNode;
  /** The node and its flow as the fleet has them. */
  readonly row: BoardRow;
  /** The node as its actions see it. */
  readonly subject: Subject;
  /** Flow that is under way, or the last one; `undefined` = none, or not read yet. */
  readonly flow: FlowView | undefined;
  /** Whether flow and history have been read. */
  readonly isRead: boolean;
  /** Why they could not be read the last time. */
  readonly error: string | undefined;
  /** Newest first. */
  readonly history: readonly HistoryLine[];
  readonly hardware: Hardware;
  readonly mayChange: boolean;
  /** Logs, once they are asked for. */
  readonly logs: readonly ArchivedFile[] | undefined;
  /** Plan of a target, once it is asked for. */
  readonly plan: NodePlan | undefined;
  /** Rates of the write of an image, while the page was open. */
  readonly rates: readonly RateSample[];
}

/** Tabs of the page, by the word in its address. */
export const nodeTabs = {
  now: 'Now',
  history: 'History',
  inventory: 'Inventory',
  logs: 'Logs',
  console: 'Console',
  plan: 'Plan',
} as const;
export type NodeTab = keyof typeof nodeTabs;

/** Length of a name that may not fit beside what else is on its line. */
const longName = 40;
/** Number of actions that stand beside the first one; the others are in a menu. */
const besides = 2;

/** Name, status and the action that comes next, on one line. Pure. */
export function renderNodeHead(row: BoardRow, subject: Subject, mayChange: boolean): Html {
  const { node } = subject;
  const name = node.name ?? node.uuid;
  const power = node.power_state !== null && html`<span class="fact">${node.power_state}</span>`;
  const rack =
    node.rack !== null && html` / <a href="#racks/${encodeURIComponent(node.rack)}">${foreign(node.rack)}</a>`;
  return html`<p class="crumbs"><a href="#">All nodes</a>${rack}</p>
    <div class="node-line"><h2>${foreign(name)}</h2><span class="pill ${statusOf(row)}">${renderStatus(statusOf(row))}</span>
    <span class="fact">${node.provision_state}</span>${power}${renderHealth(node)}${renderButtons(subject, mayChange)}</div>
    ${name.length > longName && html`<p class="whole-name">${foreign(name)}</p>`}${node.maintenance && html`<p class="taken">${renderMaintenance(node)}</p>`}`;
}

/** Buttons for what may be done now, the next one first. Pure. */
export function renderButtons(subject: Subject, mayChange: boolean): Html {
  if (!mayChange) return nothing;
  const actions = Object.entries(actionsFor(subject));
  const first = primaryAction(subject);
  const others = actions.filter(([name]) => name !== first);
  const button = ([name, { title }]: readonly [string, BoardAction]): Html =>
    html`<button type="button" id="act-${name}" data-action="${name}"${name === first && html` class="primary"`}>${title}</button> `;
  const rest = others.slice(besides);
  return html`<span class="buttons actions">${actions.filter(([name]) => name === first).map(button)}${others.slice(0, besides).map(button)}
    ${rest.length > 0 && html`<details class="menu" id="more"><summary>More</summary><div>${rest.map(button)}</div></details>`}</span>`;
}

/** Links to the parts of a node's page. Pure. */
export function renderTabs(node: BoardNode, open: NodeTab): Html {
  return html`${Object.entries(nodeTabs).map(
    ([tab, title]) =>
      html`<a href="#node/${encodeURIComponent(node.name ?? node.uuid)}${tab !== 'now' && `/${tab}`}" aria-current="${tab === open ? 'page' : 'false'}">${title}</a>`,
  )}`;
}

/** Renders one tab of the page. Pure. */
export function renderTab(tab: NodeTab, picture: NodePicture, now: Date): Html {
  const { isRead, error } = picture;
  if (!isRead && error === undefined) return html`<p class="loading">Reading the node…</p>`;
  if (!isRead) return html`<div class="empty"><p class="failed">${error}</p><p>It is asked again.</p></div>`;
  return html`${error !== undefined && html`<p class="failed">Not up to date: ${error}</p>`}${renderOpened(tab, picture, now)}`;
}

function renderOpened(tab: NodeTab, picture: NodePicture, now: Date): Html {
  switch (tab) {
    case 'history':
      return html`<ol class="history">${picture.history.map(renderLine)}</ol>${picture.history.length === 0 && html`<p class="empty">Nothing has happened to it yet.</p>`}`;
    case 'inventory':
      return renderInventoryTab(picture);
    case 'logs':
      return renderLogs(picture);
    case 'console':
      return nothing;
    case 'plan':
      return renderPlanTab(picture);
    default:
      return renderNow(picture, now);
  }
}

function renderNow(picture: NodePicture, now: Date): Html {
  const { node, flow, hardware, history } = picture;
  const words = causesOf(picture);
  return html`${renderCause(picture, words)}${renderDistrust(node)}<div class="columns"><section aria-label="What is done">${flow ? renderFlow(flow, picture, { now, words }) : html`<h3>Done so far</h3><p class="fact">Nothing was done with it yet.</p>`}
    ${history.length > 0 && html`<h3>Lately</h3><ol class="history">${history.slice(0, latest).map(renderLine)}</ol>`}</section>
    <aside aria-label="About the node">${renderPlace(node)}${renderHardwareFacts(hardware)}</aside></div>`;
}
const latest = 8;

const isFailure = (flow: FlowView | undefined): flow is FlowView =>
  flow?.state === 'failed' || flow?.state === 'aborted';

/** Whether it is a failure of a node that is well since, or that has been sent on. */
const isMemory = (row: BoardRow, flow: FlowView | undefined): boolean =>
  isFailure(flow) && row.flow === undefined && statusOf(row) !== 'failed';

/** Finds the words for what is wrong with the node, or for what it rests; none where nothing is wrong. */
function causesOf({ node, row, flow }: NodePicture): readonly string[] {
  if (isMemory(row, flow)) return [];
  const status = statusOf(row);
  const rests = [
    ...(flow?.held ? [`held: ${flow.held}`] : []),
    ...(flow?.on_hold ? [`on hold for ${flow.on_hold}`] : []),
    ...(flow?.abort_requested ? [flow.abort_requested] : []),
  ];
  const cause = isFailure(flow) ? (flow.error ?? node.last_error) : status === 'failed' ? node.last_error : null;
  const waits = row.flow && ['retrying', 'slow'].includes(row.flow.status) ? row.flow.reason : null;
  return [...rests, ...(cause === null ? [] : [cause]), ...(waits === null ? [] : [waits])];
}

/** One card: the cause, what to do about it, and the button for it; nothing where nothing is wrong. */
function renderCause({ node, row, subject, flow, mayChange }: NodePicture, words: readonly string[]): Html {
  const status = statusOf(row);
  const advice = flow?.advice ?? null;
  if (words.length === 0 && (advice === null || isMemory(row, flow))) return nothing;
  const step = row.flow?.step ?? row.flow?.kind ?? flow?.kind;
  const first = primaryAction(subject);
  const action = first === undefined ? undefined : actionsFor(subject)[first];
  const log =
    isFailure(flow) && html`<a class="button" href="#node/${encodeURIComponent(node.name ?? node.uuid)}/logs">Logs</a>`;
  return html`<section class="cause ${status}" aria-label="What is wrong"><h3>${renderStatus(status)} <span>${foreign(step)}</span></h3>
    ${words.map((each) => html`<p class="words">${renderWords(each)}</p>`)}
    ${advice !== null && html`<p class="advice">${renderWords(advice)}</p>`}
    <p class="buttons">${mayChange && action && html`<button type="button" class="primary" id="cause-${first}" data-action="${first}">${action.title}</button>`} ${log}</p></section>`;
}

/** A card of its own: it stays beside whatever the node does, until somebody has accepted it. */
function renderDistrust(node: BoardNode): Html {
  const distrust = describeDistrust(node);
  if (distrust === undefined) return nothing;
  return html`<section class="cause failed" aria-label="Attestation"><h3><span class="status distrusted">≠ not trusted</span> <span>attestation</span></h3>
    <p class="words">${renderWords(distrust)}</p><p class="advice">${renderWords(adviseOnDistrust(node))}</p></section>`;
}

function renderFlow(
  flow: FlowView,
  { mayChange, rates }: NodePicture,
  { now, words }: { readonly now: Date; readonly words: readonly string[] },
): Html {
  const took = formatDuration(spanMs(flow.started_at, flow.ended_at, now));
  return html`<h3>${flow.kind}: ${flow.state}, ${took}</h3>${flow.steps.length > 0 ? renderTimeline(flow, now, mayChange, words) : html`<p class="fact">No step of it was begun.</p>`}${drawRate(rates)}${renderRequest(flow)}`;
}

/** Renders the ids by which the flow is found in logs, and by which its client knows it. */
function renderRequest({ request_id: id, global_request_id: globalId }: FlowView): Html {
  const ids = [id, globalId].flatMap((each) => (each === null ? [] : [renderCommand(each)]));
  return ids.length === 0 ? nothing : html`<p class="fact">Request ${joined(ids, ' of ')}</p>`;
}

/** Renders the node's facts, beside its machine. */
function renderPlace(node: BoardNode): Html {
  const { rack, rack_unit: unit, resource_class: kind, driver, owner, conductor_group: group, traits, image } = node;
  const facts = {
    rack: rack !== null && unit !== null ? `${rack}, unit ${unit}` : rack,
    class: kind,
    image,
    health: node.health,
    owner,
    driver,
    group,
    traits: traits.join(', '),
    boot: describeVerdict(node) ?? null,
  };
  const rows = Object.entries(facts).map(
    ([name, value]) => value !== null && value !== '' && html`<dt>${name}</dt><dd>${foreign(value)}</dd>`,
  );
  return html`<h3>Identity</h3><dl class="facts">${rows}<dt>UUID</dt><dd>${renderCommand(node.uuid)}</dd></dl>`;
}

function renderInventoryTab({ node, hardware }: NodePicture): Html {
  if (!hardware.inventory && hardware.switchPorts.length === 0)
    return html`<div class="empty"><p>Nobody has looked into the machine yet.</p><p>${renderCommand(`baton inspect ${node.name ?? node.uuid}`)}</p></div>`;
  return renderHardware(hardware);
}

/** Each file folded, with its end. */
function renderLogs({ node: { uuid }, logs }: NodePicture): Html {
  const download = html`<a href="v1/nodes/${uuid}/flow/logs">download</a>`;
  const files = (logs ?? []).map(({ name, text, bytes }, index) => {
    const cut = text.length < bytes && html`<p>its end; the whole is in the ${download}</p>`;
    return html`<details id="log-${index}"><summary>${foreign(name)} (${formatBytes(bytes)})</summary>${cut}<pre class="log" tabindex="0">${foreign(text)}</pre></details>`;
  });
  const button = !logs && html`<button type="button" id="read-logs" data-name="logs">Read them here</button> `;
  return html`<h3>The agent’s logs</h3><p class="buttons">${button}${download}, where they could be collected</p>${files}`;
}

function renderPlanTab({ plan }: NodePicture): Html {
  const button = (target: string, title: string): Html =>
    html`<button type="button" id="plan-${target}" data-plan="${target}">${title}</button> `;
  const buttons = [
    button('active', 'Of a deploy'),
    button('rebuild', 'Of a rebuild'),
    button('provide', 'Of a cleaning'),
  ];
  return html`<h3>What would be done</h3><p>Nothing is done by looking.</p><p class="buttons">${buttons}</p>${plan && renderPlans([plan])}`;
}

function renderLine({ created_at: at, severity, event, user }: HistoryLine): Html {
  const who = user !== null && html` <small>${foreign(user)}</small>`;
  return html`<li${severity === 'ERROR' && html` class="failed"`}>${renderTime(at, formatMoment(at))} <span>${renderProse(event)}${who}</span></li>`;
}
