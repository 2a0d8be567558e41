import type { ConductorStep } from '#conductor/flows/step-context.ts';

export const hold: ConductorStep = {
  interface: 'deploy',
  step: 'hold',
  description: "On request: the flow rests, without a time limit, until an operator's `unhold` (or `abort`).",
  run: () => Promise.resolve({ kind: 'hold', reason: "the operator's word (unhold)" }),
};
