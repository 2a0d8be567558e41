import type { FlowStepView, FlowView } from '#conductor/api/flows.ts';
import { formatDuration, spanMs } from '#conductor/cli/format-units.ts';
import { describeBoot, flowRemarks, progressOf, renderProgress } from '#conductor/cli/render-flow.ts';
import { stepName } from '#conductor/model/planned-step.ts';

/** What happened between two looks at a flow, a line each; for logs, where nothing can be drawn over. Pure. */
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
  // what to do after the end is told with the failure
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
  if (before?.phase !== after.phase) return true;
  const tenth = ({ done_bytes: done, total_bytes: total }: typeof after): number =>
    done && total ? Math.floor((done / total) * 10) : 0;
  return tenth(after) > tenth(before);
}
