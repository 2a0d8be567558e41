import type { ReportedFlow } from '#conductor/flows/engine/summarize-teardown.ts';

export type ReportedStep = ReportedFlow['steps'][number];

/** A step of interface `cluster` as reports read it; it has succeeded unless `more` says otherwise. */
export const reportedStep = (name: string, more: Partial<ReportedStep> = {}): ReportedStep => ({
  interface: 'cluster',
  step: name,
  plugin: null,
  phase: 'main',
  state: 'succeeded',
  output: null,
  error: null,
  waitingFor: null,
  ...more,
});
