import type { FlowKindName } from '#conductor/model/flow-states.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';

/** Of the flows that move their node: the state in which it is meanwhile. */
export const workingStates: Readonly<Partial<Record<FlowKindName, ProvisionState>>> = {
  verify: 'verifying',
  inspect: 'inspecting',
  clean: 'cleaning',
  manual_clean: 'cleaning',
  deploy: 'deploying',
  service: 'servicing',
  restore: 'servicing',
  rescue: 'rescuing',
  unrescue: 'unrescuing',
  adopt: 'adopting',
  teardown: 'deleting',
  wipe: 'cleaning',
};
