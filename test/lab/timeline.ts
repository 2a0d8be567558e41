import type { Flow, FlowStep, StepProgress } from '#test/lab/operator.ts';

/** A deploy as lines of text. Pure: what a flow looks like now, and what has changed since the last look. */

const marks: Readonly<Record<FlowStep['state'], string>> = {
  pending: '·',
  running: '▶',
  waiting: '…',
  succeeded: '✓',
  failed: '✗',
  skipped: '-',
};

/** One line a step: mark, duration, step, and for the one under way its progress or what it waits for. */
export function renderFlow(node: string, flow: Flow, now: Date): string[] {
  const total = formatSeconds(seconds(flow.started_at, flow.ended_at, now));
  return [
    `${node}  ${flow.kind} ${flow.state}  ${total}`,
    ...flow.steps.map((step) => {
      const duration = step.started_at === null ? '' : formatSeconds(seconds(step.started_at, step.ended_at, now));
      const name = `${step.interface}.${step.step}`.padEnd(34);
      return `  ${marks[step.state]} ${duration.padStart(7)}  ${String(step.priority).padStart(3)} ${name}${detail(step, now)}`.trimEnd();
    }),
  ];
}

/** What happened between two looks at a flow, a line each; for logs, where nothing can be drawn over. */
export function describeChanges(node: string, before: Flow | undefined, after: Flow, now: Date): string[] {
  const lines: string[] = [];
  const known = before?.uuid === after.uuid ? before : undefined;
  if (!known) lines.push(`${node}: ${after.kind} started`);
  for (const step of after.steps) {
    const old = known?.steps.find((each) => each.uuid === step.uuid);
    const name = `${step.interface}.${step.step} (${step.priority})`;
    const took =
      step.started_at === null ? '' : ` after ${formatSeconds(seconds(step.started_at, step.ended_at, now))}`;
    if (old?.state !== step.state && step.state === 'running') lines.push(`${node}: ${name} started`);
    if (old?.state !== step.state && ['succeeded', 'failed', 'skipped'].includes(step.state)) {
      lines.push(`${node}: ${name} ${step.state}${took}${step.error ? `: ${step.error}` : ''}`);
    }
    const underWay = step.state === 'running' || step.state === 'waiting';
    if (underWay && step.waiting_for !== null && step.waiting_for !== old?.waiting_for) {
      lines.push(`${node}: ${name} waits for ${step.waiting_for}`);
    }
    if (underWay && isWorthALine(old?.progress ?? null, step.progress)) {
      lines.push(`${node}: ${name} ${describeProgress(step.progress)}`);
    }
  }
  if (known?.state !== after.state && after.ended_at !== null) {
    const took = formatSeconds(seconds(after.started_at, after.ended_at, now));
    lines.push(`${node}: ${after.kind} ${after.state} after ${took}${after.error ? `: ${after.error}` : ''}`);
  }
  return lines;
}

/** `2 min 05 s`, `7.3 s`. */
export function formatSeconds(value: number): string {
  if (value < 60) return `${value.toFixed(1)} s`;
  const whole = Math.round(value);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
}

/** `writing image 64.0 of 118.2 MB (54 %) at 21.3 MB/s`. */
export function describeProgress(progress: StepProgress | null): string {
  if (!progress) return '';
  const { phase, done_bytes: done, total_bytes: total, rate } = progress;
  const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);
  const share = done && total ? ` of ${megabytes(total)} MB (${Math.floor((done / total) * 100)} %)` : ' MB';
  return [
    phase ?? '',
    typeof done === 'number' ? `${megabytes(done)}${share}` : '',
    typeof rate === 'number' ? `at ${megabytes(rate)} MB/s` : '',
  ]
    .filter(Boolean)
    .join(' ');
}

function detail(step: FlowStep, now: Date): string {
  if (step.state === 'failed') return step.error ?? '';
  if (step.state !== 'running' && step.state !== 'waiting') return '';
  const limit =
    step.wait_until === null
      ? ''
      : ` (at most ${formatSeconds(seconds(now.toISOString(), step.wait_until, now))} more)`;
  const waiting = step.waiting_for === null ? '' : `waits for ${step.waiting_for}${limit}`;
  return describeProgress(step.progress) || waiting;
}

/** A new phase, or another tenth of the image. */
function isWorthALine(before: StepProgress | null, after: StepProgress | null): boolean {
  if (!after) return false;
  if (before === null || before.phase !== after.phase) return true;
  const tenth = (progress: StepProgress): number =>
    progress.done_bytes && progress.total_bytes ? Math.floor((progress.done_bytes / progress.total_bytes) * 10) : 0;
  return tenth(after) > tenth(before);
}

function seconds(from: string, to: string | null, now: Date): number {
  return Math.max(0, ((to === null ? now : new Date(to)).getTime() - new Date(from).getTime()) / 1000);
}
