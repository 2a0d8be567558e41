import type { FlowStepView, FlowView } from '#conductor/api/flows.ts';
import { formatClock } from '#conductor/board/render/clock.ts';
import { foreign, type Html, html, nothing, renderTime } from '#conductor/board/render/html.ts';
import { renderProgress } from '#conductor/board/render/render-board.ts';
import { renderWords } from '#conductor/board/render/render-words.ts';
import { formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';
import { stepName } from '#conductor/model/flows/planned-step.ts';

/** A span of time on the axis, in milliseconds since the epoch. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A step as it is drawn. */
export interface DrawnStep {
  readonly step: FlowStepView;
  /** Time that it took so far; `undefined` = it has not begun, or never will. */
  readonly actual: Span | undefined;
  /** Time that it usually takes, from its beginning, or from when it is expected to begin. */
  readonly usual: Span | undefined;
}

export interface Timeline {
  readonly axis: Span;
  readonly steps: readonly DrawnStep[];
}

/** A part of a step's time: at work, or waiting. */
export interface Segment extends Span {
  readonly isWait: boolean;
}

/**
 * Divides a step's time by its attempts: in each it works, then waits until the next one, or its end. Pure.
 * @param actual the time that it took so far
 */
export function segmentsOf({ attempts, state }: Pick<FlowStepView, 'attempts' | 'state'>, actual: Span): Segment[] {
  if (attempts.length === 0) return [{ ...actual, isWait: state === 'waiting' }];
  return attempts.flatMap(({ started_at: started, waits_since: waits }, index) => {
    const from = index === 0 ? actual.from : Date.parse(started);
    const to = Math.max(
      from,
      index + 1 < attempts.length ? Date.parse(attempts[index + 1]?.started_at ?? '') : actual.to,
    );
    const rest = waits === null ? to : Math.min(to, Math.max(from, Date.parse(waits)));
    return [{ from, to: rest, isWait: false }, ...(rest < to ? [{ from: rest, to, isWait: true }] : [])];
  });
}

const shapes: Readonly<Record<string, string>> = {
  pending: '·',
  running: '▶',
  waiting: '…',
  succeeded: '✓',
  failed: '✖',
  aborted: '⊘',
  skipped: '–',
};
/** Parts of the axis with a time beneath. */
const ticks = 4;
/** Percent of the axis that anything is at least wide, so that it can be seen. */
const narrowest = 0.4;

/**
 * Places the steps of a flow on one axis, from its beginning to its end; of one under way, to where it would end if what is
 * left took its usual time. Pure.
 */
export function arrangeTimeline(flow: FlowView, now: Date): Timeline {
  const from = Date.parse(flow.started_at);
  const end = flow.ended_at === null ? now.getTime() : Date.parse(flow.ended_at);
  let expected = end;
  const steps = flow.steps.map((step): DrawnStep => {
    const usualMs = step.usual_seconds === null ? undefined : step.usual_seconds * 1000;
    if (step.started_at !== null) {
      const began = Date.parse(step.started_at);
      const ended = step.ended_at === null ? end : Date.parse(step.ended_at);
      if (step.ended_at === null && usualMs !== undefined) expected = Math.max(expected, began + usualMs);
      const usual = usualMs === undefined ? undefined : { from: began, to: began + usualMs };
      return { step, actual: { from: began, to: Math.max(began, ended) }, usual };
    }
    // what a flow has not begun when it ends, it never will
    if (step.state !== 'pending' || flow.ended_at !== null || usualMs === undefined)
      return { step, actual: undefined, usual: undefined };
    const begins = expected;
    expected += usualMs;
    return { step, actual: undefined, usual: { from: begins, to: expected } };
  });
  const last = Math.max(end, expected, ...(flow.ended_at === null ? [] : steps.map(({ actual }) => actual?.to ?? 0)));
  return { axis: { from, to: Math.max(last, from + 1000) }, steps };
}

/**
 * The steps of a flow as bars on one axis, with its boot and what may be skipped. Pure.
 * @param said words that stand above already: a step need not repeat them
 */
export function renderTimeline(flow: FlowView, now: Date, mayChange: boolean, said: readonly string[] = []): Html {
  const { axis, steps } = arrangeTimeline(flow, now);
  const place = (at: number): number => (100 * (at - axis.from)) / (axis.to - axis.from);
  const rows = steps.map((drawn) => renderStep(drawn, { flow, place, now, mayChange, said }));
  const length = axis.to - axis.from;
  const marks = Array.from({ length: ticks }, (_, index) => {
    const x = (100 * index) / ticks;
    return html`<text x="${x}%" y="11">${index === 0 ? '0' : shortly((length * index) / ticks)}</text>`;
  });
  return html`<table class="timeline">
    <thead><tr><th scope="col" class="t-step">Step</th><th scope="col" class="t-bar"><span class="unseen">Time</span><svg aria-hidden="true" width="100%" height="14">${marks}</svg></th><th scope="col" class="t-took number">Took</th><th scope="col" class="t-usual number">Usually</th></tr></thead>
    <tbody>${renderBoot(flow, place)}${rows}</tbody></table>`;
}

const shortly = (ms: number): string =>
  formatDuration(ms >= 10_000 ? Math.round(ms / 1000) * 1000 : ms).replace(/\.0 s$/, ' s');

interface Drawing {
  readonly flow: FlowView;
  readonly place: (at: number) => number;
  readonly now: Date;
  readonly mayChange: boolean;
  readonly said: readonly string[];
}

function renderStep({ step, actual, usual }: DrawnStep, drawing: Drawing): Html {
  const { flow, place, now, mayChange } = drawing;
  const isBusy = step.state === 'running' || step.state === 'waiting';
  // an operator's abort is no failure of the step that it struck
  const state = step.state === 'failed' && flow.state === 'aborted' ? 'aborted' : step.state;
  const status = isBusy ? 'working' : state;
  const took =
    step.started_at === null ? '' : formatDuration(spanMs(step.started_at, step.ended_at ?? flow.ended_at, now));
  const usually =
    step.usual_seconds === null || step.state === 'skipped' ? '' : formatDuration(step.usual_seconds * 1000);
  const bar = (span: Span, kind: string, y: number, height: number): Html => {
    const x = Math.min(place(span.from), 100 - narrowest);
    const width = Math.max(narrowest, Math.min(place(span.to), 100) - x);
    return html`<rect class="${kind}" x="${x.toFixed(2)}%" y="${y}" width="${width.toFixed(2)}%" height="${height}" rx="2"/>`;
  };
  const parts = actual ? segmentsOf(step, actual) : [];
  const drawn = parts.map((part) =>
    bar(part, part.isWait ? 'bar waiting' : `bar ${state === 'waiting' ? 'running' : state}`, 5, 8),
  );
  const bars = html`${usual && bar(usual, 'usual', 2, 14)}${drawn}`;
  const name = stepName(step);
  const skip =
    mayChange &&
    step.may_skip &&
    html`<button type="button" class="small" id="skip-${step.uuid}" data-step="${step.uuid}" aria-label="Skip ${name}">Skip…</button>`;
  return html`<tr class="${status}"><th scope="row" class="t-step" title="${name}: ${step.reason}"><span class="shape" aria-hidden="true">${shapes[state] ?? '?'}</span><span class="unseen">${state}</span> ${foreign(name)} <small>${step.in_band ? 'agent' : 'conductor'}</small></th>
    <td class="t-bar"><svg aria-hidden="true" width="100%" height="18">${bars}</svg></td><td class="t-took number">${took}</td><td class="t-usual number">${usually}</td></tr>
    ${renderRemark(step, drawing, skip)}`;
}

/** A line beneath the step, for one that waits, was skipped or has something to say. */
function renderRemark(step: FlowStepView, drawing: Drawing, skip: Html | false): Html {
  const remarks = remarksOf(step, drawing);
  if (remarks.length === 0 && skip === false) return nothing;
  return html`<tr class="remark"><td colspan="4">${remarks.map((remark) => html`<span>${remark}</span> `)}${skip}</td></tr>`;
}

function remarksOf(step: FlowStepView, drawing: Drawing): readonly Html[] {
  const tries = step.attempts.length > 1 ? [html`begun ${step.attempts.length} times`] : [];
  return [...tries, ...wordsOf(step, drawing)];
}

function wordsOf(step: FlowStepView, { flow, now, said }: Drawing): readonly Html[] {
  if (step.state === 'running' || step.state === 'waiting') {
    const left =
      step.wait_until !== null &&
      html` (${renderTime(step.wait_until, `at most ${formatDuration(spanMs(now.toISOString(), step.wait_until, now))} more`)})`;
    return [
      ...(step.progress === null || step.progress === undefined ? [] : [renderProgress(step.progress)]),
      ...(step.waiting_for === null || said.some((words) => words.includes(step.waiting_for ?? ''))
        ? []
        : [html`waiting for ${renderWords(step.waiting_for)}${left}`]),
    ];
  }
  // the error that ended the flow stands above, once
  if (step.state === 'skipped') return [];
  if (step.state === 'failed') return step.error === null || isSaid(step.error, flow) ? [] : [renderWords(step.error)];
  if (step.note !== null) return [renderWords(step.note)];
  return step.state === 'pending' && step.may_skip ? [foreign(step.reason)] : [];
}

const isSaid = (error: string, flow: FlowView): boolean => flow.error?.includes(error.slice(0, 200)) === true;

/** Renders the events of the machine's boots on the same axis. */
function renderBoot({ boot }: FlowView, place: (at: number) => number): Html {
  if (boot.length === 0) return nothing;
  const marks = boot.map(({ event, at, detail }) => {
    const x = Math.max(0.4, Math.min(99.6, place(Date.parse(at)))).toFixed(2);
    return html`<circle class="${event}" cx="${x}%" cy="9" r="4"><title>${formatClock(at)} ${event} ${detail}</title></circle>`;
  });
  const words = boot.map(
    ({ event, detail, at }) => html`<span>${renderTime(at, formatClock(at))} ${event} ${foreign(detail)}</span> `,
  );
  return html`<tr class="boot"><th scope="row" class="t-step">Boot</th><td class="t-bar"><svg aria-hidden="true" width="100%" height="18"><line x1="0" x2="100%" y1="9" y2="9"/>${marks}</svg></td><td class="t-took"></td><td class="t-usual"></td></tr>
    <tr class="remark"><td colspan="4">${words}</td></tr>`;
}
