import type { Rack, RackMember } from '#conductor/board/render/arrange-racks.ts';
import { foreign, type Html, html, joined, nothing } from '#conductor/board/render/html.ts';
import { type NodeStatus, nodeStatuses } from '#conductor/board/render/node-status.ts';
import { nameOf, uuidOf } from '#conductor/board/render/render-board.ts';
import { formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';

/** Number of nodes above which only those are drawn that are not at rest; the others are counted. */
const drawnNodes = 2000;
const quiet: ReadonlySet<NodeStatus> = new Set<NodeStatus>(['used', 'free', 'idle']);
/** Waits by which a node is the warmer, in ms. */
const warm = [60_000, 5 * 60_000, 30 * 60_000];

/** Each rack as an elevation: how many nodes are what, and each node by its unit, with name and shape. Pure. */
export function renderRacks(racks: readonly Rack[], now: Date): Html {
  if (racks.length === 0)
    return html`<div class="empty"><p>No node is enrolled.</p><p><code>baton node create -f nodes.yaml</code></p></div>`;
  const total = racks.reduce((sum, { members }) => sum + members.length, 0);
  const cards = racks.map((rack) => {
    const { name, members } = rack;
    const title = name === null ? 'no rack noted' : foreign(name);
    const drawn = total > drawnNodes ? members.filter((member) => !quiet.has(member.status)) : members;
    const href = name !== null && html` data-row href="#racks/${encodeURIComponent(name)}"`;
    return html`<li><h3><a${href}>${title}</a> <small>${members.length}</small></h3><p class="rack-counts">${renderCounts(rack)}</p>${renderElevation(drawn, now)}</li>`;
  });
  const lacking =
    racks.some(({ name }) => name === null) &&
    html`<p>A node’s rack is what its <code>properties.rack</code>, else its <code>extra.rack</code> says, and its unit <code>rack_unit</code> beside it; site documents set the rack.</p>`;
  return html`<ul class="racks">${cards}</ul>${lacking}`;
}

/** One rack. Pure. @param rack `undefined` = there is none of that name */
export function renderRack(name: string, rack: Rack | undefined, now: Date): Html {
  const up = html`<p class="crumbs"><a href="#racks/">All racks</a></p>`;
  if (!rack) return html`${up}<p class="empty">There is no rack ${foreign(name)}, or none of its nodes is yours.</p>`;
  // a filter has no way to say a quotation mark
  const list = !name.includes('"') && html` · <a href="#${encodeURIComponent(`rack:"${name}"`)}">as a list</a>`;
  return html`${up}<h3>${foreign(name)}</h3><p>${renderCounts(rack)}${list}</p><div class="racks one">${renderElevation(rack.members, now)}</div>`;
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
function renderElevation(members: readonly RackMember[], now: Date): Html {
  const rows = members.map((member, index) => {
    const above = members[index - 1]?.unit ?? null;
    const isGap = member.unit !== null && above !== null && above - member.unit > 1;
    return html`${isGap && html`<li class="gap" aria-hidden="true"></li>`}${renderMember(member, now)}`;
  });
  return html`<ol class="members">${rows}</ol>`;
}

function renderMember({ row, status, unit }: RackMember, now: Date): Html {
  const name = nameOf(row);
  const { shape, words } = nodeStatuses[status];
  const waitMs = row.flow && row.flow.ended_at === null ? spanMs(row.flow.since, null, now) : undefined;
  const heat = waitMs === undefined ? 0 : warm.filter((ms) => waitMs >= ms).length;
  const wait = waitMs === undefined ? nothing : html`<small>${formatDuration(waitMs)}</small>`;
  return html`<li class="member ${status} heat-${heat}"><a href="#node/${encodeURIComponent(row.node?.name ?? uuidOf(row))}" title="${name}: ${words}"><span class="unit">${unit}</span><span class="status ${status}" aria-hidden="true">${shape}</span> ${foreign(name)} <span class="unseen">${words}</span>${wait}</a></li>`;
}
