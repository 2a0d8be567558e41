import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type MetricName, metricTable } from '#conductor/kernel/metrics/metric-table.ts';
import { stepTitle } from '#conductor/model/planned-step.ts';

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
