import type { Rack, RackMember } from '#conductor/board/render/fleet/arrange-racks.ts';
import { foreign, type Html, html, joined, nothing } from '#conductor/board/render/html.ts';
import { type NodeStatus, nodeStatuses } from '#conductor/board/render/node-status.ts';
import { nameOf, uuidOf } from '#conductor/board/render/render-board.ts';
import { renderCommand } from '#conductor/board/render/render-words.ts';
import { formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';

/** Number of nodes above which only those are drawn that are not at rest; the others are counted. */
const drawnNodes = 2000;
const quiet: ReadonlySet<NodeStatus> = new Set<NodeStatus>(['used', 'free', 'idle']);
/** Waits by which a node is the warmer, in ms. */
const warm = [60_000, 5 * 60_000, 30 * 60_000];

/** The way in which a rack is drawn. */
export interface RackLook {
  /** Whether nodes at rest are left out: there are too many to draw. */
  readonly isBrief: boolean;
  readonly now: Date;
}

/** Whether the racks have so many nodes that only those are drawn that are not at rest. Pure. */
export const isBigRoom = (racks: readonly Rack[]): boolean =>
  racks.reduce((sum, { members }) => sum + members.length, 0) > drawnNodes;

/** Id of a rack's card on the page. */
export const rackId = ({ name }: Rack): string => (name === null ? 'no-rack' : `rack-${name}`);

/** Renders a rack as an elevation: how many nodes are what, and each node by its unit, with name and shape. Pure. */
export function renderRackCard(rack: Rack, { isBrief, now }: RackLook): Html {
  const { name, members } = rack;
  const title = name === null ? 'no rack noted' : foreign(name);
  const drawn = isBrief ? members.filter((member) => !quiet.has(member.status)) : members;
  const href = name !== null && html` data-row href="#racks/${encodeURIComponent(name)}"`;
  return html`<li id="${rackId(rack)}"><h3><a${href}>${title}</a> <small>${members.length}</small></h3>${renderShares(rack)}<p class="rack-counts">${renderCounts(rack)}</p>${renderElevation(drawn, now)}</li>`;
}

/** Renders the words beneath the racks, or in their place. Pure. */
export function renderRacksNote(racks: readonly Rack[]): Html {
  if (racks.length === 0)
    return html`<div class="empty"><p>No node is enrolled.</p><p>${renderCommand('baton node create -f nodes.yaml')}</p></div>`;
  return html`${
    racks.some(({ name }) => name === null) &&
    html`<p class="fact">A node’s rack is what its <code>properties.rack</code>, else its <code>extra.rack</code> says, and its unit <code>rack_unit</code> beside it; site documents set the rack.</p>`
  }`;
}

/** How much of the rack is what, as one bar. */
function renderShares({ members, counts }: Rack): Html {
  let x = 0;
  const parts = counts.map(([status, count]) => {
    const width = (100 * count) / members.length;
    x += width;
    return html`<rect class="${status}" x="${(x - width).toFixed(2)}%" width="${width.toFixed(2)}%" height="4"/>`;
  });
  return html`<svg class="shares" aria-hidden="true" width="100%" height="4">${parts}</svg>`;
}

/** One rack. Pure. @param rack `undefined` = there is none of that name */
export function renderRack(name: string, rack: Rack | undefined, now: Date): Html {
  const up = html`<p class="crumbs"><a href="#racks/">All racks</a> <span>/</span> ${foreign(name)}</p>`;
  if (!rack) return html`${up}<p class="empty">There is no rack ${foreign(name)}, or none of its nodes is yours.</p>`;
  // a filter has no way to say a quotation mark
  const list = !name.includes('"') && html` · <a href="#${encodeURIComponent(`rack:"${name}"`)}">as a list</a>`;
  return html`${up}${renderShares(rack)}<p class="rack-counts">${renderCounts(rack)}${list}</p><div class="racks one">${renderElevation(rack.members, now, renderDoing)}</div>`;
}

const renderCounts = ({ counts }: Rack): Html =>
  joined(
    counts.map(
      ([status, count]) =>
        html`<span class="status ${status}">${nodeStatuses[status].shape} ${count} ${nodeStatuses[status].words}</span>`,
    ),
    ' ',
  );

/** Members from the top down; units that nothing is noted for between two members are left out, and that is shown. */
function renderElevation(
  members: readonly RackMember[],
  now: Date,
  more: (member: RackMember) => Html = () => nothing,
): Html {
  const rows = members.map((member, index) => {
    const above = members[index - 1]?.unit ?? null;
    const isGap = member.unit !== null && above !== null && above - member.unit > 1;
    return html`${isGap && html`<li class="gap" aria-hidden="true"></li>`}${renderMember(member, now, more(member))}`;
  });
  return html`<ol class="members">${rows}</ol>`;
}

/** Formats a wait by minutes: a card that changes each second would cost more than it says. */
const formatWait = (ms: number): string =>
  ms < minuteMs ? '< 1 m' : formatDuration(Math.floor(ms / minuteMs) * minuteMs).replace(' 00 s', '');
const minuteMs = 60_000;

/** Renders the work or rest of a member, beside its name: there is room for it where one rack is shown. */
function renderDoing({ row: { flow, node }, status }: RackMember): Html {
  const state = flow?.provision_state ?? node?.provision_state;
  const why = flow ? flow.reason : node.maintenance ? node.maintenance_reason : node.last_error;
  const words = [state, flow && (flow.step ?? flow.kind), why].filter((each) => each !== null && each !== undefined);
  return html`<span class="doing"><span class="status ${status}" aria-hidden="true">${nodeStatuses[status].words}</span> ${foreign(words.join(' · '))}</span>`;
}

function renderMember({ row, status, unit }: RackMember, now: Date, more: Html): Html {
  const name = nameOf(row);
  const { shape, words } = nodeStatuses[status];
  const waitMs = row.flow && row.flow.ended_at === null ? spanMs(row.flow.since, null, now) : undefined;
  const heat = waitMs === undefined ? 0 : warm.filter((ms) => waitMs >= ms).length;
  const wait = waitMs === undefined ? nothing : html`<small>${formatWait(waitMs)}</small>`;
  return html`<li class="member ${status} heat-${heat}"><a href="#node/${encodeURIComponent(row.node?.name ?? uuidOf(row))}" title="${name}: ${words}"><span class="unit">${unit}</span><span class="status ${status}" aria-hidden="true">${shape}</span> ${foreign(name)} <span class="unseen">${words}</span>${more}${wait}</a></li>`;
}
