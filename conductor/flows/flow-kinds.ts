import type { FlowKindName } from '#conductor/flows/flow-states.ts';
import type { ProvisionEvent, ProvisionState } from '#conductor/nodes/provision-states.ts';

/** A core step's place: what runs it stands in `conductor-steps/`. */
export interface CoreStep {
  readonly interface: 'deploy' | 'power';
  readonly step: string;
  readonly priority: number;
  /** The agent does the work (`write_image`); an advertised step of the same name is hidden by it. */
  readonly inBand?: boolean;
}

/** How the agent is asked for this kind's steps, and told to run one (agent-protocol.md §4.1). */
export interface InBandSteps {
  readonly getCommand: string;
  readonly stepsKey: string;
  readonly executeCommand: string;
  readonly versionKey: string;
  /** In-band priorities outside it are refused, 0 = disabled. */
  readonly window?: { readonly lowest: number; readonly highest: number };
}

export interface FlowKind {
  /** Events that move the node; `wait` and `resume` only where the table has a waiting state. */
  readonly events: {
    readonly wait?: ProvisionEvent;
    readonly resume?: ProvisionEvent;
    readonly done: ProvisionEvent;
    readonly fail: ProvisionEvent;
  };
  /** `target_provision_state` while it runs. */
  readonly target: ProvisionState;
  /** First and last of all, whatever the priorities between them. */
  readonly opening: readonly CoreStep[];
  /** Sorted with the agent's and the request's steps by priority. */
  readonly sorted: readonly CoreStep[];
  readonly closing: readonly CoreStep[];
  /** Run after a failure, so that the node is left safe. */
  readonly cleanup: readonly CoreStep[];
  readonly inBand?: InBandSteps;
  /** What follows in the same breath when it has succeeded. */
  readonly next?: FlowKindName;
  /** A failure takes the node out of service until a person has looked. */
  readonly fault?: string;
}

const deployStep = (step: string, priority: number, more: Partial<CoreStep> = {}): CoreStep => ({
  interface: 'deploy',
  step,
  priority,
  ...more,
});

/** Clean, deploy, teardown and verify are rows, not copies of code. */
export const flowKinds: Readonly<Record<FlowKindName, FlowKind>> = {
  verify: {
    events: { done: 'done', fail: 'fail' },
    target: 'manageable',
    opening: [{ interface: 'power', step: 'verify_power', priority: 0 }],
    sorted: [],
    closing: [],
    cleanup: [],
  },
  clean: {
    events: { wait: 'wait', resume: 'resume', done: 'done', fail: 'fail' },
    target: 'available',
    opening: [deployStep('boot_ramdisk', 0)],
    sorted: [],
    closing: [deployStep('tear_down_agent', 0), deployStep('leave_network', 0)],
    cleanup: [{ interface: 'power', step: 'power_off', priority: 0 }, deployStep('leave_network', 0)],
    inBand: {
      getCommand: 'clean.get_clean_steps',
      stepsKey: 'clean_steps',
      executeCommand: 'clean.execute_clean_step',
      versionKey: 'clean_version',
    },
    fault: 'clean failure',
  },
  deploy: {
    events: { wait: 'wait', resume: 'resume', done: 'done', fail: 'fail' },
    target: 'active',
    opening: [],
    // the decomposed deploy sequence of seed 004
    sorted: [
      deployStep('deploy', 100),
      deployStep('write_image', 80, { inBand: true }),
      deployStep('prepare_instance_boot', 60, { inBand: true }),
      deployStep('tear_down_agent', 40),
      deployStep('switch_to_tenant_network', 30),
      deployStep('boot_instance', 20),
    ],
    closing: [],
    cleanup: [{ interface: 'power', step: 'power_off', priority: 0 }, deployStep('leave_network', 0)],
    inBand: {
      getCommand: 'deploy.get_deploy_steps',
      stepsKey: 'deploy_steps',
      executeCommand: 'deploy.execute_deploy_step',
      versionKey: 'deploy_version',
      window: { lowest: 41, highest: 99 },
    },
  },
  teardown: {
    events: { done: 'clean', fail: 'fail' },
    target: 'available',
    opening: [
      { interface: 'power', step: 'power_off', priority: 0 },
      deployStep('leave_network', 0),
      deployStep('release_instance', 0),
    ],
    sorted: [],
    closing: [],
    cleanup: [],
    next: 'clean',
  },
};
