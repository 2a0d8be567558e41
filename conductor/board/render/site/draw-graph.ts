import type { ActionDryRun, ActionGroupAnswer } from '#conductor/api/actions.ts';
import { type Html, html, nothing } from '#conductor/board/render/html.ts';
import { arrangeGroups, directDependencies } from '#conductor/board/render/site/arrange-groups.ts';

/** A group of an action, or of one that is only planned. */
export type DrawnGroup = Pick<ActionDryRun['groups'][number], 'name' | 'critical' | 'depends_on'> &
  Partial<Pick<ActionGroupAnswer, 'stage' | 'nodes_by_status' | 'waiting_for' | 'working'>> & {
    readonly member_count: number;
  };

const box = { width: 190, height: 62, gapX: 56, gapY: 16 } as const;
const bar = { x: 12, y: 44, width: box.width - 24, height: 8 } as const;
/** Pixels of a bar for what there is at all. */
const shortest = 3;
/** Letters of the name that are drawn; all of it stands in the table beneath. */
const mostLetters = 21;

export const stageShapes: Readonly<Record<ActionGroupAnswer['stage'], string>> = {
  not_started: '·',
  preparing: '▶',
  prepared: '▷',
  deploying: '▶',
  success: '✓',
  failure: '✖',
};

/** The shape of a group that has ended as its criteria want, with nodes that failed. */
export const partialShape = '◐';

/** Whether a group counts as done, and nodes of it have failed nevertheless. Pure. */
export const isPartial = ({ stage, nodes_by_status: counts }: Pick<DrawnGroup, 'stage' | 'nodes_by_status'>): boolean =>
  stage === 'success' && (counts?.failure ?? 0) > 0;

/** Groups from left to right, each behind what it depends on, with what has become of its nodes. Pure. */
export function drawGraph(groups: readonly DrawnGroup[]): Html {
  if (groups.length === 0) return nothing;
  const columns = arrangeGroups(groups);
  const tallest = Math.max(...columns.map(({ length }) => length));
  const height = tallest * (box.height + box.gapY) - box.gapY;
  const width = columns.length * (box.width + box.gapX) - box.gapX;
  const places = new Map<string, { readonly x: number; readonly y: number }>();
  for (const [depth, column] of columns.entries()) {
    const top = (height - (column.length * (box.height + box.gapY) - box.gapY)) / 2;
    for (const [index, { name }] of column.entries())
      places.set(name, { x: depth * (box.width + box.gapX), y: top + index * (box.height + box.gapY) });
  }
  const direct = directDependencies(groups);
  const lines = groups.flatMap((group) =>
    (direct.get(group.name) ?? []).map((name) => drawLine(places.get(name), group, places)),
  );
  const boxes = groups.map((group) => drawBox(group, places.get(group.name) ?? { x: 0, y: 0 }));
  // what it says stands in the table, too
  return html`<svg aria-hidden="true" viewBox="-2 -2 ${width + 4} ${height + 4}" width="${width + 4}" height="${height + 4}">${lines}${boxes}</svg>`;
}

type Places = ReadonlyMap<string, { readonly x: number; readonly y: number }>;

function drawLine(
  from: { readonly x: number; readonly y: number } | undefined,
  { name, waiting_for: waits }: DrawnGroup,
  places: Places,
): Html {
  const to = places.get(name);
  if (!from || !to) return nothing;
  const [x1, y1, x2, y2] = [from.x + box.width, from.y + box.height / 2, to.x, to.y + box.height / 2];
  const middle = (x1 + x2) / 2;
  const state = (waits ?? []).length > 0 && html` class="waits"`;
  return html`<path${state} d="M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}"/>`;
}

function drawBox(group: DrawnGroup, { x, y }: { readonly x: number; readonly y: number }): Html {
  const { name, critical, stage = 'not_started', nodes_by_status: counts, member_count: size, working = 0 } = group;
  const letters = Array.from(name);
  const shown = letters.length > mostLetters ? `${letters.slice(0, mostLetters - 1).join('')}…` : name;
  const done = counts ? `${counts.success}/${size}` : String(size);
  const remarks = [
    ...((counts?.failure ?? 0) > 0 ? [`${counts?.failure} failed`] : []),
    ...(working > 0 ? [`${working} at work`] : []),
    ...(critical ? ['critical'] : []),
  ].join(', ');
  return html`<g class="${stage}${isPartial(group) && ' partial'}${critical && ' critical'}" transform="translate(${x} ${y})">
    <title>${name}</title><rect class="box" width="${box.width}" height="${box.height}" rx="8"/>
    <text x="12" y="20" class="name">${isPartial(group) ? partialShape : stageShapes[stage]} ${shown}</text>
    <text x="12" y="36" class="small">${remarks}</text>
    <text x="${box.width - 12}" y="36" class="small count">${done}</text>${drawBar(counts, size)}</g>`;
}

/** Done, prepared, failed, from the left; what there is of a kind can be seen. */
function drawBar(counts: DrawnGroup['nodes_by_status'], size: number): Html {
  const { x, y, width, height } = bar;
  const parts: Html[] = [html`<rect class="rest" x="${x}" y="${y}" width="${width}" height="${height}" rx="4"/>`];
  if (!counts || size === 0) return html`${parts}`;
  const long = (kind: keyof typeof counts): number =>
    counts[kind] === 0 ? 0 : Math.max(shortest, (width * counts[kind]) / size);
  const [failure, prepared] = [long('failure'), Math.min(long('prepared'), width - long('failure'))];
  const lengths = { success: Math.min(long('success'), width - failure - prepared), prepared, failure };
  let at: number = x;
  for (const kind of ['success', 'prepared', 'failure'] as const) {
    const length = Math.min(lengths[kind], x + width - at);
    if (length <= 0) continue;
    parts.push(
      html`<rect class="bar ${kind}" x="${round(at)}" y="${y}" width="${round(length)}" height="${height}" rx="2"/>`,
    );
    at += length;
  }
  return html`${parts}`;
}

const round = (pixels: number): number => Math.round(pixels * 10) / 10;
