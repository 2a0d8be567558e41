import type { FlowStepView, FlowView } from '#conductor/flows/flow-view.ts';
import { Progress } from '#shared/wire/progress.ts';

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
  const total = `${flow.kind}: ${flow.state}, ${took}${flow.error ? ` — ${flow.error}` : ''}`;
  return [...steps, total];
}

function renderStep(step: FlowStepView, now: Date, width: number): string[] {
  const mark = marks[step.state] ?? '?';
  const priority = step.priority > 0 ? String(step.priority).padStart(3) : '   ';
  const where = step.in_band ? 'agent' : '     ';
  const took = step.started_at ? formatDuration(spanMs(step.started_at, step.ended_at, now)) : '';
  const head = `${mark} ${priority} ${stepName(step).padEnd(width)} ${where} ${took.padStart(8)}`;
  const first = `${head}  ${remark(step)}`.trimEnd();
  return step.error ? [first, `      ${step.error}`] : [first];
}

function stepName(step: FlowStepView): string {
  return `${step.interface}.${step.step}${step.phase === 'cleanup' ? ' (clean-up)' : ''}`;
}

function remark(step: FlowStepView): string {
  const busy = step.state === 'running' || step.state === 'waiting';
  if (!busy) return '';
  const progress = Progress.safeParse(step.progress);
  if (progress.success) return renderProgress(progress.data);
  return step.waiting_for ? `waiting for ${step.waiting_for}` : '';
}

function renderProgress(progress: Progress): string {
  const { done_bytes: done, total_bytes: total, rate } = progress;
  const amount =
    done === undefined
      ? ''
      : ` ${formatBytes(done)}${total ? ` of ${formatBytes(total)} (${Math.floor((done / total) * 100)} %)` : ''}`;
  return `${progress.phase}${amount}${rate === undefined ? '' : `, ${formatBytes(rate)}/s`}`;
}

function spanMs(from: string, to: string | null, now: Date): number {
  return Math.max(0, (to ? new Date(to) : now).getTime() - new Date(from).getTime());
}

/** `0.4 s`, `12.3 s`, `4 m 05 s`, `1 h 02 m`. */
export function formatDuration(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${String(seconds % 60).padStart(2, '0')} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} m`;
}

/** Decimal units, as networks and disks count. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
