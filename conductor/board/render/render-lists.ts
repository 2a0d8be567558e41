import type { ImageAnswer } from '#conductor/api/images.ts';
import type { SettingInForce } from '#conductor/api/records.ts';
import { foreign, type Html, html, joined, renderTime } from '#conductor/board/render/html.ts';
import { renderTable, type TableRow } from '#conductor/board/render/render-table.ts';
import { renderCode, renderCommand, renderWords } from '#conductor/board/render/render-words.ts';
import { formatBytes, formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';

export interface ListedAllocation {
  readonly uuid: string;
  readonly name: string | null;
  readonly state: string | null;
  readonly resource_class: string | null;
  readonly traits: readonly string[];
  readonly node_uuid: string | null;
  readonly owner: string | null;
  readonly last_error: string | null;
  readonly waiting_for: string | null;
  readonly wait_until: string | null;
  readonly created_at: string;
}

export interface ListedConductor {
  readonly hostname: string;
  readonly conductor_group: string;
  readonly alive: boolean;
  readonly drivers: readonly string[];
  readonly created_at: string;
  readonly updated_at: string | null;
}

const states: Readonly<Record<string, readonly [shape: string, status: string, rank: number]>> = {
  error: ['✖', 'failed', 0],
  allocating: ['…', 'slow', 1],
  active: ['✓', 'succeeded', 2],
};
const unknown = ['·', 'idle', 3] as const;

/** Renders allocations, those that wait and have failed first, with why and for how long. Pure. */
export function renderAllocations(
  allocations: readonly ListedAllocation[],
  context: { readonly now: Date; readonly nameOf: (nodeUuid: string) => string; readonly mayChange: boolean },
): Html {
  if (allocations.length === 0)
    return html`<div class="empty"><p>No allocation.</p><p>${renderCommand('baton allocate CLASS')} reserves an available node of a resource class.</p></div>`;
  const { now, nameOf, mayChange } = context;
  const rank = ({ state }: ListedAllocation): number => (states[state ?? ''] ?? unknown)[2];
  const rows = allocations
    .toSorted((a, b) => rank(a) - rank(b) || Number(a.created_at > b.created_at) - 0.5)
    .map((each): TableRow => {
      const { uuid, name, state, node_uuid: node, wait_until: until } = each;
      const [shape, status] = states[state ?? ''] ?? unknown;
      const left = until === null ? '' : `, gives up in ${formatDuration(spanMs(now.toISOString(), until, now))}`;
      const waits = each.waiting_for === null ? '' : html`waits for ${foreign(each.waiting_for)}${left}`;
      const release = html`<button type="button" id="do-release-${uuid}" data-name="release-${uuid}" aria-label="Release ${name ?? uuid}">Release…</button>`;
      const cells = [
        html`<span class="status">${shape} ${state ?? ''}</span>`,
        foreign(name ?? uuid),
        foreign([each.resource_class ?? '', ...each.traits].join(' ')),
        node === null ? '' : html`<a href="#node/${node}">${foreign(nameOf(node))}</a>`,
        foreign(each.owner ?? ''),
        renderTime(each.created_at, formatDuration(spanMs(each.created_at, null, now))),
        each.last_error === null ? waits : foreign(each.last_error),
        mayChange ? release : '',
      ];
      return { status, cells };
    });
  return renderTable(['State', 'Allocation', 'Wants', 'Node', 'Owner', 'For', 'Why', ''], rows);
}

/** Renders images, those that nothing uses last. Pure. */
export function renderImages(
  images: readonly ImageAnswer[],
  { now, mayChange }: { readonly now: Date; readonly mayChange: boolean },
): Html {
  if (images.length === 0)
    return html`<div class="empty"><p>No image in chunks on this conductor.</p><p>${renderCommand('baton image add')} makes one of a file or an address.</p></div>`;
  const rows = images
    .toSorted((a, b) => Number(a.users.length === 0) - Number(b.users.length === 0))
    .map(({ name, size, added_at: added, users }): TableRow => {
      const shown = foreign(name);
      const isUsed = users.length > 0;
      const remove = html`<button type="button" id="do-remove-${name}" data-name="remove-${name}" aria-label="Remove ${name}">Remove…</button>`;
      return {
        status: size === null ? 'failed' : isUsed ? 'working' : 'idle',
        cells: [
          html`<span class="status">${size === null ? '✖ damaged' : isUsed ? '● used' : '○ unused'}</span>`,
          shown,
          size === null ? '' : formatBytes(size),
          renderTime(added, ageOf(spanMs(added, null, now))),
          html`${joined(users.slice(0, shownUsers).map(renderUser), ', ')}${moreThan(users.length)}`,
          mayChange && !isUsed ? remove : '',
        ],
      };
    });
  return renderTable(['Status', 'Image', '>Size', 'Age', 'Used by', ''], rows);
}

const shownUsers = 5;
const dayMs = 86_400_000;
const ageOf = (ms: number): string => (ms < dayMs ? formatDuration(ms) : `${Math.floor(ms / dayMs)} d`);
const moreThan = (count: number): string => (count > shownUsers ? `, and ${count - shownUsers} more` : '');

function renderUser({ kind, id, name }: ImageAnswer['users'][number]): Html {
  const text = foreign(`${kind.replace('_', ' ')} ${kind === 'site_revision' ? id : (name ?? id)}`);
  return kind === 'node' ? html`<a href="#node/${id}">${text}</a>` : text;
}

/** Silent ones first. Pure. @param work nodes that each works on, by its name */
export function renderConductors(
  conductors: readonly ListedConductor[],
  { now, work }: { readonly now: Date; readonly work: ReadonlyMap<string, number> },
): Html {
  const rows = conductors
    .toSorted((a, b) => Number(a.alive) - Number(b.alive))
    .map(({ hostname, alive, conductor_group: group, drivers, created_at: since, updated_at: beat }): TableRow => {
      const ago = (time: string): string => formatDuration(spanMs(time, null, now));
      const cells = [
        html`<span class="status">${alive ? '● alive' : '✖ silent'}</span>`,
        foreign(hostname),
        foreign(group),
        String(work.get(hostname) ?? 0),
        beat === null ? 'never' : renderTime(beat, `${ago(beat)} ago`),
        renderTime(since, `${ago(since)} ago`),
        foreign(drivers.join(', ')),
      ];
      return { status: alive ? 'working' : 'failed', cells };
    });
  return renderTable(
    ['State', 'Conductor', 'Group', '>Nodes at work', 'Last sign of life', 'Known since', 'Drivers'],
    rows,
  );
}

/** Renders settings, those that somebody has set first. Pure. */
export function renderSettings(answer: {
  readonly conductor: string;
  readonly settings: readonly SettingInForce[];
}): Html {
  const rows = answer.settings
    .toSorted((a, b) => Number(a.from === 'default') - Number(b.from === 'default'))
    .map(({ name, value, default: fallback, from, meaning }): TableRow => {
      const isSet = from === 'environment';
      const cells = [
        html`<code>${name}</code>`,
        foreign(value),
        isSet ? html`<b>environment</b>${value === fallback ? ', as the default' : ''}` : 'default',
        html`<span class="flow">${renderWords(meaning, renderCode)}</span>`,
      ];
      return { status: isSet ? 'set' : 'idle', cells };
    });
  return html`<p>Of conductor ${foreign(answer.conductor)}, which answered. They are read when it starts: change its environment, and restart it.</p>
    ${renderTable(['Setting', 'Value', 'From', 'Meaning'], rows)}`;
}
