import type { ProvisionState } from '#conductor/model/provision-states.ts';

/** States in which a machine may be in the ramdisk, and may ask who it is (agent-protocol.md §2.2, `restrict_lookup`). */
const ramdiskStates: ReadonlySet<ProvisionState> = new Set<ProvisionState>([
  'deploying',
  'wait call-back',
  'cleaning',
  'clean wait',
  'inspecting',
  'inspect wait',
  'rescuing',
  'rescue wait',
  'servicing',
  'service wait',
]);

/**
 * Decides what a machine that boots from the network is to boot. Once its instance has been powered on it is the
 * instance's, even while the state is still `deploying`.
 */
export function requiredBoot(facts: {
  readonly provisionState: ProvisionState;
  /** The step under way, `deploy.boot_instance`. */
  readonly currentStep: string | undefined;
}): 'ramdisk' | 'local disk' {
  return ramdiskStates.has(facts.provisionState) && facts.currentStep !== 'deploy.boot_instance'
    ? 'ramdisk'
    : 'local disk';
}
