import { choicesOf } from '#conductor/board/page/ask-about-nodes.ts';
import { decoded } from '#conductor/board/page/page.ts';
import type { View, ViewButton } from '#conductor/board/page/show-view.ts';
import { arrangeRacks, type NodeClass, nameOf, nodeClasses, type Rack } from '#conductor/board/render/arrange-racks.ts';
import { actionsForRows } from '#conductor/board/render/board-actions.ts';
import { escapeHtml, foreign } from '#conductor/board/render/render-board.ts';

/** Nothing is read beside the fleet, which is followed. */
const againMs = 3_600_000;
/** Number of nodes above which only those are drawn that are not at rest; the others are counted. */
const drawnNodes = 2000;
const quiet: ReadonlySet<NodeClass> = new Set<NodeClass>(['in use', 'free', 'not ready']);

/** `#racks/`: all racks; `#racks/r7`: that one, whose nodes may be acted on. */
export const racksView: View = {
  title: 'Racks',
  read: async (rest, { fleet, role }) => {
    const all = (): Rack[] => arrangeRacks(fleet.flows.values(), fleet.nodes);
    const wanted = rest === '' ? undefined : decoded(rest);
    const chosen = (): Rack | undefined => all().find(({ name }) => (name ?? '') === wanted);
    return {
      render: () => [wanted === undefined ? renderRacks(all()) : renderRack(wanted, chosen())],
      ...(wanted === undefined || role === 'reader' ? {} : { buttons: [actButton(chosen)] }),
      againMs,
    };
  },
};

function actButton(chosen: () => Rack | undefined): ViewButton {
  return {
    name: 'act',
    title: 'Act on this rack…',
    asks: {
      meaning: 'Of each, those that it can be done to.',
      get choices() {
        return choicesOf(actionsForRows((chosen()?.members ?? []).map(({ row }) => row)));
      },
    },
  };
}

/** Each rack as a card: how many nodes are what, and a shape for each node. Pure. */
export function renderRacks(racks: readonly Rack[]): string {
  if (racks.length === 0) return '<p>No node.</p>';
  const total = racks.reduce((sum, { members }) => sum + members.length, 0);
  const cards = racks.map((rack) => {
    const { name, members } = rack;
    const title = name === null ? 'no rack noted' : foreign(name);
    const drawn = total > drawnNodes ? members.filter((member) => !quiet.has(member.class)) : members;
    const href = name === null ? '' : ` href="#racks/${escapeHtml(encodeURIComponent(name))}"`;
    return `<li><h3><a${href}>${title}</a> <small>${members.length}</small></h3><p>${renderCounts(rack)}</p><p class="cells">${drawn.map(renderCell).join('')}</p></li>`;
  });
  const lacking = racks.some(({ name }) => name === null)
    ? '<p>A node’s rack is what its <code>properties.rack</code>, else its <code>extra.rack</code> says; site documents set it.</p>'
    : '';
  return `<ul class="racks">${cards.join('')}</ul>${lacking}`;
}

function renderRack(name: string, rack: Rack | undefined): string {
  const up = '<p><a href="#racks/">← All racks</a></p>';
  if (!rack) return `${up}<p>There is no rack ${foreign(name)}, or none of its nodes is yours.</p>`;
  const nodes = rack.members.map(
    (member) =>
      `<li>${renderCell(member)} <span>${escapeHtml(member.class)}</span> <small>${escapeHtml(member.row.node?.provision_state ?? '')}</small></li>`,
  );
  // a filter has no way to say a quotation mark
  const list = name.includes('"')
    ? ''
    : ` · <a href="#${escapeHtml(encodeURIComponent(`rack:"${name}"`))}">as a list</a>`;
  return `${up}<h3>${foreign(name)}</h3><p>${renderCounts(rack)}${list}</p><ul class="members">${nodes.join('')}</ul>`;
}

const renderCounts = ({ counts }: Rack): string =>
  counts
    .map(([each, count]) => `<span class="${slugOf(each)} status">${nodeClasses[each]} ${count} ${each}</span>`)
    .join(' ');

function renderCell({ row, class: each }: Rack['members'][number]): string {
  const name = nameOf(row);
  const uuid = escapeHtml(row.node?.uuid ?? '');
  return `<a class="${slugOf(each)} cell" href="#node/${uuid}" title="${escapeHtml(`${name}: ${each}`)}"><span class="status">${nodeClasses[each]}</span> <bdi>${escapeHtml(name)}</bdi></a>`;
}

/** Makes the class's name as the style has it. */
const slugOf = (each: NodeClass): string =>
  ({
    'waits for long': 'slow',
    'in maintenance': 'maintenance',
    'at work': 'working',
    'in use': 'succeeded',
    free: 'free',
    'not ready': 'idle',
  })[each as string] ?? each;
