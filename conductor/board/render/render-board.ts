import type { FleetEvents } from '#conductor/api/events.ts';
import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { foreign, type Html, html, nothing, renderTime } from '#conductor/board/render/html.ts';
import { formatBytes, formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';
import { stalledDownload } from '#conductor/model/stalled-download.ts';
import type { Progress } from '#shared/wire/progress.ts';

/** A node as the board has it, from lists and from events. */
export type BoardNode = Readonly<FleetEvents['node']>;

/** A node at work with its flow, or one at rest. */
export type BoardRow =
  | { readonly flow: FlowSummaryView; readonly node: BoardNode | undefined }
  | { readonly flow: undefined; readonly node: BoardNode };

export const nameOf = ({ node, flow }: BoardRow): string =>
  node?.name ?? flow?.node_name ?? node?.uuid ?? flow?.node_uuid ?? '';

export const uuidOf = ({ node, flow }: BoardRow): string => node?.uuid ?? flow?.node_uuid ?? '';

/** A link to the node's page, by its name, where it has one. */
export function renderNodeLink(uuid: string, name: string | null | undefined, more: Html = nothing): Html {
  return html`<a${more} href="#node/${encodeURIComponent(name ?? uuid)}">${foreign(name ?? uuid)}</a>`;
}

export function renderMaintenance({
  maintenance,
  maintenance_reason: reason,
}: Pick<BoardNode, 'maintenance' | 'maintenance_reason'>): Html {
  if (!maintenance) return nothing;
  return html`<span class="maintenance">⚑ maintenance${reason !== null && html`: ${foreign(reason)}`}</span>`;
}

/** Whether the BMC says that something of the machine is not well; a health that is not known says nothing. */
export const isIll = ({ health }: Pick<BoardNode, 'health'>): boolean => health === 'Warning' || health === 'Critical';

/** Renders the health that the BMC reports, where it is not OK. */
export function renderHealth({ health }: Pick<BoardNode, 'health'>): Html {
  if (!isIll({ health })) return nothing;
  return html`<span class="health ${health}">⚠ health: ${health}</span>`;
}

/** How far a step is: a bar, bytes and their rate, or the phase where there are no bytes. */
export function renderProgress(progress: unknown): Html {
  if (typeof progress !== 'object' || progress === null) return nothing;
  const { phase, done_bytes: done, total_bytes: total, rate } = progress as Partial<Progress>;
  const amount =
    done !== undefined &&
    total !== undefined &&
    total > 0 &&
    html`<progress value="${done}" max="${total}" aria-label="${phase ?? 'done'}"></progress> ${Math.floor((100 * done) / total)} %, `;
  const stalled = stalledDownload(progress);
  return html`<span class="progress">${amount}${foreign(phase)}${rate !== undefined && `, ${formatBytes(rate)}/s`}${stalled !== undefined && html`; ${foreign(stalled.reason)}`}</span> `;
}

/** Renders the attempts of a flow that waits, when the next one is, and when it gives up. Pure. */
export function renderWaits(flow: FlowSummaryView, now: Date): readonly Html[] {
  const until = (time: string): string => formatDuration(spanMs(now.toISOString(), time, now));
  const isRetrying = flow.status === 'retrying';
  return [
    ...(isRetrying ? [html`attempt ${flow.attempt}`] : []),
    ...(flow.next_attempt_at === null
      ? isRetrying
        ? [html`trying now`]
        : []
      : [renderTime(flow.next_attempt_at, `again in ${until(flow.next_attempt_at)}`)]),
    ...(flow.until === null ? [] : [renderTime(flow.until, `gives up in ${until(flow.until)}`)]),
  ];
}
