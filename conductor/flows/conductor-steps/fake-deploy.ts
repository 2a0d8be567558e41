import type { ConductorStep } from '#conductor/flows/step-context.ts';

export const fakeDeploy: ConductorStep = {
  interface: 'deploy',
  step: 'fake_deploy',
  description:
    'Does nothing: the deploy interface of the node is `fake`, so that no ramdisk boots and no disk is written.',
  run: () => Promise.resolve({ kind: 'done' }),
};
