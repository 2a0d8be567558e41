import type { ToldFlow } from '#conductor/flows/what-remains.ts';

export type ToldStep = ToldFlow['steps'][number];

/** A step of interface `cluster` as reports read it; it has succeeded unless `more` says otherwise. */
export const toldStep = (name: string, more: Partial<ToldStep> = {}): ToldStep => ({
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
