import type { FlowStepView, FlowView } from '#conductor/api/flows.ts';
import { formatBytes, formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';
import { stepName } from '#conductor/model/flows/planned-step.ts';
import { bootEvents } from '#conductor/model/power-and-boot.ts';
import { stalledDownload } from '#conductor/model/stalled-download.ts';
import { type BytesByOrigin, Progress } from '#shared/wire/progress.ts';

const marks: Readonly<Record<string, string>> = {
  pending: '·',
  running: '▶',
  waiting: '…',
  succeeded: '✓',
  failed: '✗',
  skipped: '-',
};

/**
 * A flow as lines of text, one per step, and what a step says beside it: how long it took, how far it is, why it waits,
 * why it failed. Pure; the lines' number grows with the plan, so a live view repaints them all.
 */
export function renderFlow(flow: FlowView, now: Date): string[] {
  const width = Math.max(...flow.steps.map((step) => stepName(step).length), 0);
  const steps = flow.steps.flatMap((step) => renderStep(step, now, width));
  const took = formatDuration(spanMs(flow.started_at, flow.ended_at, now));
  const remarks = flowRemarks(flow).map((text) => `, ${text}`);
  const total = `${flow.kind}: ${flow.state}, ${took}${remarks.join('')}${flow.error ? ` — ${flow.error}` : ''}`;
  return [...steps, ...renderBoot(flow), ...renderRequest(flow), ...renderAdvice(flow), total];
}

/** Lists what keeps a flow from going on as planned: `on hold: …`, `restarted 2 times`. */
function flowRemarks(flow: FlowView): string[] {
  if (flow.ended_at !== null) return [];
  return [
    ...(flow.held ? [`held: ${flow.held}`] : []),
    ...(flow.on_hold ? [`on hold for ${flow.on_hold}`] : []),
    ...(flow.abort_requested ? [flow.abort_requested] : []),
    ...(flow.restarts > 0 ? [`restarted ${flow.restarts} time${flow.restarts > 1 ? 's' : ''}`] : []),
  ];
}

/** Renders the ids by which the flow is found in logs, and by which its client knows it. */
function renderRequest({ request_id: id, global_request_id: globalId }: FlowView): string[] {
  const ids = [id, globalId].filter((each) => each !== null);
  return ids.length === 0 ? [] : [`  request: ${ids.join(' of ')}`];
}

/** Renders the latest boot, while the flow goes on. */
function renderBoot({ boot, ended_at: endedAt }: FlowView): string[] {
  if (endedAt !== null || boot.length === 0) return [];
  const isNext = (index: number): boolean => rank(boot[index]) < rank(boot[index - 1]);
  const from = boot.findLastIndex((_, index) => index > 0 && isNext(index) && boot[index]?.event === 'dhcp');
  const latest = boot.slice(Math.max(from, 0));
  const reached = latest.filter(({ event }) => event !== 'refused').map(describeBoot);
  const refused = latest.filter(({ event }) => event === 'refused').map(describeBoot);
  return [...(reached.length === 0 ? [] : [reached.join(', ')]), ...refused].map((line) => `  boot: ${line}`);
}

function rank(event: FlowView['boot'][number] | undefined): number {
  return event ? bootEvents.indexOf(event.event) : 0;
}

/** `DHCP 10.1.0.50`, `script ramdisk`, `kernel 8.2 MB`. */
function describeBoot({ event, detail, bytes }: FlowView['boot'][number]): string {
  const word = event === 'dhcp' ? 'DHCP' : event;
  return [word, detail, bytes === null ? null : formatBytes(bytes)].filter((part) => part !== null).join(' ');
}

const adviceWidth = 76;

/**
 * Renders the advice on a flow under way, in lines that a terminal need not cut; what to do after its end is shown with
 * the failure.
 */
function renderAdvice({ advice, ended_at: endedAt }: FlowView): string[] {
  if (advice === null || endedAt !== null) return [];
  const lines = [''];
  for (const word of advice.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line.length + word.length >= adviceWidth) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line, index) => `${index === 0 ? '→' : ' '} ${line}`);
}

function renderStep(step: FlowStepView, now: Date, width: number): string[] {
  const mark = marks[step.state] ?? '?';
  const priority = step.priority > 0 ? String(step.priority).padStart(3) : '   ';
  const where = step.in_band ? 'agent' : '     ';
  const took = step.started_at ? formatDuration(spanMs(step.started_at, step.ended_at, now)) : '';
  const head = `${mark} ${priority} ${stepName(step).padEnd(width)} ${where} ${took.padStart(8)}`;
  const first = `${head}  ${remark(step, now)}`.trimEnd();
  return step.error ? [first, `      ${step.error}`] : [first];
}

const asked: ReadonlySet<string> = new Set(['template', 'request', 'plugin']);

function remark(step: FlowStepView, now: Date): string {
  // where the plan is not as it always is
  if (step.state === 'pending') return asked.has(step.origin) ? step.reason : '';
  const busy = step.state === 'running' || step.state === 'waiting';
  if (!busy) return step.note ?? renderOrigin(step.image_bytes ?? undefined);
  const progress = progressOf(step);
  if (progress) return `${progressBar(progress)}${renderProgress(progress)}`;
  if (!step.waiting_for) return '';
  const left = step.wait_until ? spanMs(now.toISOString(), step.wait_until, now) : undefined;
  return `waiting for ${step.waiting_for}${left === undefined ? '' : ` (at most ${formatDuration(left)} more)`}`;
}

/** Reads the progress that the agent has reported; `undefined` before it has. */
function progressOf(step: FlowStepView): Progress | undefined {
  return Progress.safeParse(step.progress).data;
}

/** `writing image 50.0 MB of 200 MB (25 %), 12.5 MB/s`. */
function renderProgress(progress: Progress | undefined): string {
  if (!progress) return '';
  const { done_bytes: done, total_bytes: total, rate } = progress;
  const amount =
    done === undefined
      ? ''
      : ` ${formatBytes(done)}${total ? ` of ${formatBytes(total)} (${Math.floor((done / total) * 100)} %)` : ''}`;
  const { kept_bytes: kept, copied_bytes: copied = 0, fetched_bytes: fetched = 0 } = progress;
  const stalled = stalledDownload(progress);
  const { neighbour_bytes: neighbours = 0 } = progress;
  const origin = renderOrigin(kept === undefined ? undefined : { kept, copied, fetched, neighbours });
  return `${progress.phase}${amount}${rate === undefined ? '' : `, ${formatBytes(rate)}/s`}${origin === '' ? '' : `; ${origin}`}${stalled === undefined ? '' : `; ${stalled.reason}`}`;
}

/** Renders the origins of an image in chunks: `30 MB kept, 5 MB copied, 2 MB fetched`. */
function renderOrigin(origin: BytesByOrigin | undefined): string {
  if (origin === undefined) return '';
  const { kept, copied, fetched, neighbours } = origin;
  const shared = neighbours === 0 ? '' : `, ${formatBytes(neighbours)} from neighbours`;
  return `${formatBytes(kept)} kept, ${formatBytes(copied)} copied, ${formatBytes(fetched)} fetched${shared}`;
}

const barWidth = 20;

/** `██████░░░░░░░░░░░░░░ `, or nothing while the total is not known. */
function progressBar({ done_bytes: done, total_bytes: total }: Progress): string {
  if (done === undefined || !total) return '';
  const full = Math.min(barWidth, Math.floor((done / total) * barWidth));
  return `${'█'.repeat(full)}${'░'.repeat(barWidth - full)} `;
}

/**
 * Describes what happened between two looks at a flow, a line each; for logs, where nothing can be drawn over. Pure.
 */
export function describeFlowChanges(before: FlowView | undefined, after: FlowView, now: Date): string[] {
  const known = before?.uuid === after.uuid ? before : undefined;
  const lines = known ? [] : [`${after.kind} started`];
  lines.push(...after.boot.slice(known?.boot.length ?? 0).map((event) => `boot: ${describeBoot(event)}`));
  for (const step of after.steps) {
    const old = known?.steps.find((each) => each.uuid === step.uuid);
    lines.push(...stepChanges(old, step, now).map((change) => `${stepName(step)} (${step.priority}) ${change}`));
  }
  const [old, remarks] = [known ? flowRemarks(known) : [], flowRemarks(after)];
  lines.push(...remarks.filter((remark) => !old.includes(remark)).map((remark) => `${after.kind} is ${remark}`));
  if (rests(known) && !rests(after)) lines.push(`${after.kind} goes on`);
  // what to do after the end is shown with the failure
  if (after.advice !== null && after.ended_at === null && after.advice !== known?.advice)
    lines.push(`→ ${after.advice}`);
  if (after.ended_at !== null && known?.ended_at !== after.ended_at) {
    const took = formatDuration(spanMs(after.started_at, after.ended_at, now));
    lines.push(`${after.kind} ${after.state} after ${took}${after.error ? `: ${after.error}` : ''}`);
  }
  return lines;
}

function rests(flow: FlowView | undefined): boolean {
  return flow !== undefined && (flow.held !== null || flow.on_hold !== null);
}

function stepChanges(old: FlowStepView | undefined, step: FlowStepView, now: Date): string[] {
  const lines: string[] = [];
  const turned = old?.state !== step.state;
  if (turned && step.state === 'running') lines.push('started');
  if (turned && (step.state === 'succeeded' || step.state === 'failed' || step.state === 'skipped')) {
    const took = step.started_at ? ` after ${formatDuration(spanMs(step.started_at, step.ended_at, now))}` : '';
    lines.push(`${step.state}${took}${step.error ? `: ${step.error}` : ''}`);
  }
  if (step.state !== 'running' && step.state !== 'waiting') return lines;
  if (step.waiting_for !== null && step.waiting_for !== old?.waiting_for) lines.push(`waits for ${step.waiting_for}`);
  if (isWorthALine(old, step)) lines.push(renderProgress(progressOf(step)));
  return lines;
}

/** A new phase, or another tenth of the image. */
function isWorthALine(old: FlowStepView | undefined, step: FlowStepView): boolean {
  const [before, after] = [old && progressOf(old), progressOf(step)];
  if (!after) return false;
  if (before?.phase !== after.phase || before.last_error !== after.last_error) return true;
  const tenth = ({ done_bytes: done, total_bytes: total }: typeof after): number =>
    done && total ? Math.floor((done / total) * 10) : 0;
  return tenth(after) > tenth(before);
}
