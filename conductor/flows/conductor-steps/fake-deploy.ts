import type { ConductorStep } from '#conductor/flows/step-context.ts';

export const fakeDeploy: ConductorStep = {
  interface: 'deploy',
  step: 'fake_deploy',
  description: 'Does nothing: the deploy interface is `fake`.',
  run: () => Promise.resolve({ kind: 'done' }),
};
