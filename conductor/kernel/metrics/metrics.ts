import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { databaseFaultClass } from '#conductor/kernel/db/faults.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { type MetricName, metricTable } from '#conductor/kernel/metrics/metric-table.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';
import { loggedIds } from '#conductor/model/request-ids.ts';
import type { Clock } from '#shared/clock.ts';
import type { Log } from '#shared/log.ts';
import { readOrigin } from '#shared/wire/progress.ts';

type LabelOf<Name extends MetricName> = (typeof metricTable)[Name]['labels'][number];

type Instrument<Name extends MetricName> = (typeof metricTable)[Name]['kind'] extends 'counter'
  ? Counter<LabelOf<Name>>
  : (typeof metricTable)[Name]['kind'] extends 'histogram'
    ? Histogram<LabelOf<Name>>
    : Gauge<LabelOf<Name>>;

/** The instruments of one conductor, by the names of `metricTable`. */
export type Metrics = { readonly [Name in MetricName]: Instrument<Name> } & {
  readonly registry: Registry;
  /** A step's label: agents bring steps of their own, whose number nobody bounds but this. */
  stepLabel(step: Parameters<typeof stepTitle>[0]): string;
};

/** More different steps than these are `other`. */
const maximumStepLabels = 200;

/** A registry of its own for each conductor, so that several in one process don't count together. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const made = Object.entries(metricTable).map(([key, definition]) => {
    const { kind, name, help, labels: labelNames } = definition;
    const configuration = { name, help, labelNames: [...labelNames], registers: [registry] };
    if (kind === 'counter') return [key, new Counter(configuration)];
    if (kind === 'histogram') return [key, new Histogram({ ...configuration, buckets: [...definition.buckets] })];
    return [key, new Gauge(configuration)];
  });
  const steps = new Set<string>();
  const stepLabel: Metrics['stepLabel'] = (step) => {
    const label = stepTitle(step);
    if (!steps.has(label) && steps.size >= maximumStepLabels) return 'other';
    steps.add(label);
    return label;
  };
  // the table is the type: what is made for each row is what `Instrument` says
  return { ...(Object.fromEntries(made) as { [Name in MetricName]: Instrument<Name> }), registry, stepLabel };
}

/** Adds those of the process (memory, CPU, event loop, garbage collection): once in a process. */
export function collectProcessMetrics({ registry }: Metrics): void {
  collectDefaultMetrics({ register: registry });
}

export function countDatabaseFault(metrics: Pick<Metrics, 'databaseFaults'>, error: unknown): void {
  const faultClass = databaseFaultClass(error);
  if (faultClass !== undefined) metrics.databaseFaults.inc({ class: faultClass });
}

interface MetricsContext {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
}

/** Returns the state that a flow ends in, by the state in which its last step ended. */
function endStateOf(flow: Pick<FlowRow, 'state'>): 'succeeded' | 'failed' | 'aborted' {
  if (flow.state === 'failing') return 'failed';
  return flow.state === 'aborting' ? 'aborted' : 'succeeded';
}

export function countFlow(context: MetricsContext, flow: FlowRow, state = endStateOf(flow)): void {
  const seconds = secondsSince(context, flow.startedAt);
  context.metrics.flowSeconds.observe({ kind: flow.kind, state }, seconds);
  const about = { node: flow.nodeUuid, flow: flow.uuid, ...loggedIds(flow) };
  context.log.info({ ...about, kind: flow.kind, state, seconds }, 'flow ended');
}

export function countStep(
  context: MetricsContext,
  { flow, step }: { readonly flow: Pick<FlowRow, 'kind'>; readonly step: FlowStepRow },
  outcome: 'succeeded' | 'failed',
): void {
  const labels = { kind: flow.kind, step: context.metrics.stepLabel(step), outcome };
  context.metrics.stepSeconds.observe(labels, secondsSince(context, step.startedAt));
}

/** Counts the bytes that the output of a step reports for an image in chunks. */
export function countImageBytes({ metrics }: MetricsContext, output: unknown): void {
  const found = readOrigin(output);
  for (const origin of found ? (['kept', 'copied', 'fetched', 'neighbours'] as const) : []) {
    metrics.imageBytes.inc({ origin }, found?.[origin] ?? 0);
  }
}

/** The agent's next step has begun after the one that the agent's last heartbeat spoke of. */
export function countHop(context: MetricsContext, session: Pick<AgentSessionRow, 'lastHeartbeatAt'> | null): void {
  if (session?.lastHeartbeatAt) {
    context.metrics.hopSeconds.observe({}, secondsSince(context, session.lastHeartbeatAt));
  }
}

/** Returns the seconds since a moment, and none below 0: hosts' clocks may differ a little from the database's. */
function secondsSince(context: MetricsContext, moment: Date | null): number {
  if (!moment) return 0;
  return Math.max(0, context.clock.now().getTime() - moment.getTime()) / 1000;
}
