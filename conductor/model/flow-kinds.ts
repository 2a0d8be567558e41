import type { FlowKindName } from '#conductor/model/flow-states.ts';
import type { ProvisionEvent, ProvisionState } from '#conductor/model/provision-states.ts';
import type { NetworkPurpose } from '#conductor/networks/networks-file.ts';
import type { DiskLoss, StepKind } from '#shared/wire/step.ts';

/** A core step's place: what runs it stands in `conductor-steps/`. */
export interface CoreStep {
  readonly interface: 'deploy' | 'power' | 'cluster';
  readonly step: string;
  readonly priority: number;
  /** The agent does the work (`write_image`); an advertised step of the same name is hidden by it. */
  readonly inBand?: { readonly destroys: DiskLoss };
}

/** How the agent is asked for this kind's steps, and told to run one (agent-protocol.md §4.1). */
export interface InBandSteps {
  readonly kind: StepKind;
  readonly getCommand: string;
  readonly stepsKey: string;
  readonly executeCommand: string;
  readonly versionKey: string;
  /** In-band priorities outside it are refused, 0 = disabled. */
  readonly window?: { readonly lowest: number; readonly highest: number };
}

export interface FlowKind {
  /** Events that move the node; `wait` and `resume` only where the table has a waiting state. None = it stays as it is. */
  readonly events: {
    readonly wait?: ProvisionEvent;
    readonly resume?: ProvisionEvent;
    readonly done?: ProvisionEvent;
    readonly fail?: ProvisionEvent;
  };
  /** `target_provision_state` while it runs; null = the node stays where it is. */
  readonly target: ProvisionState | null;
  /** First and last of all, whatever the priorities between them. */
  readonly opening: readonly CoreStep[];
  /** Sorted with the agent's, the drivers' and the request's steps by priority. */
  readonly sorted: readonly CoreStep[];
  readonly closing: readonly CoreStep[];
  /** Last of all, where a wipe is to follow. */
  readonly beforeWipe?: readonly CoreStep[];
  /** Run after a failure, so that the node is left safe. */
  readonly cleanup: readonly CoreStep[];
  /** The requested steps run in the order given, and no others (manual cleaning, service). */
  readonly asRequested?: boolean;
  readonly inBand?: InBandSteps;
  /** Where the node's switch ports are while the ramdisk runs. */
  readonly ramdiskNetwork: NetworkPurpose;
  /** What follows in the same breath when it has succeeded. */
  readonly next?: FlowKindName;
  /** A failure takes the node out of service until a person has looked. */
  readonly fault?: string;
  /** The step that meets another ramdisk after a reboot ends the flow, or the flow begins anew (DESIGN.md). */
  readonly otherRamdisk: 'fails' | 'begins anew';
}

const deployStep = (step: string, priority = 0, more: Partial<CoreStep> = {}): CoreStep => ({
  interface: 'deploy',
  step,
  priority,
  ...more,
});
const powerStep = (step: string): CoreStep => ({ interface: 'power', step, priority: 0 });
const clusterStep = (step: string): CoreStep => ({ interface: 'cluster', step, priority: 0 });

const inBand = (kind: StepKind, window?: InBandSteps['window']): InBandSteps => ({
  kind,
  getCommand: `${kind}.get_${kind}_steps`,
  stepsKey: `${kind}_steps`,
  executeCommand: `${kind}.execute_${kind}_step`,
  versionKey: `${kind}_version`,
  ...(window ? { window } : {}),
});

const working = { wait: 'wait', resume: 'resume', fail: 'fail' } as const;
const leaveRamdisk = [deployStep('tear_down_agent'), deployStep('leave_network')];
const makeSafe = [powerStep('power_off'), deployStep('leave_network')];
const bootInstance = [deployStep('switch_to_tenant_network'), deployStep('boot_instance')];
const common = { sorted: [], ramdiskNetwork: 'provisioning', otherRamdisk: 'fails' } as const;

/** Clean, deploy, teardown and the rest are rows, not copies of code. */
export const flowKinds: Readonly<Record<FlowKindName, FlowKind>> = {
  verify: {
    ...common,
    events: { done: 'done', fail: 'fail' },
    target: 'manageable',
    opening: [powerStep('verify_power')],
    closing: [],
    cleanup: [],
  },
  inspect: {
    ...common,
    events: { ...working, done: 'done' },
    target: 'manageable',
    opening: [deployStep('boot_ramdisk'), deployStep('collect_inventory')],
    closing: leaveRamdisk,
    cleanup: [deployStep('collect_logs'), ...makeSafe],
  },
  clean: {
    ...common,
    events: { ...working, done: 'done' },
    target: 'available',
    opening: [deployStep('boot_ramdisk')],
    closing: leaveRamdisk,
    cleanup: [deployStep('collect_logs'), ...makeSafe],
    inBand: inBand('clean'),
    ramdiskNetwork: 'cleaning',
    fault: 'clean failure',
    otherRamdisk: 'begins anew',
  },
  manual_clean: {
    ...common,
    events: { ...working, done: 'cleaned' },
    target: 'manageable',
    opening: [deployStep('boot_ramdisk')],
    closing: leaveRamdisk,
    cleanup: [deployStep('collect_logs'), ...makeSafe],
    asRequested: true,
    inBand: inBand('clean'),
    ramdiskNetwork: 'cleaning',
    fault: 'clean failure',
  },
  deploy: {
    ...common,
    events: { ...working, done: 'done' },
    target: 'active',
    opening: [],
    // the decomposed deploy sequence of seed 004
    sorted: [
      deployStep('deploy', 100),
      deployStep('write_image', 80, { inBand: { destroys: 'root disk' } }),
      deployStep('prepare_instance_boot', 60, { inBand: { destroys: 'none' } }),
      deployStep('tear_down_agent', 40),
      deployStep('switch_to_tenant_network', 30),
      deployStep('boot_instance', 20),
    ],
    closing: [],
    cleanup: [deployStep('collect_logs'), ...makeSafe],
    inBand: inBand('deploy', { lowest: 41, highest: 99 }),
  },
  service: {
    ...common,
    events: { ...working, done: 'done' },
    target: 'active',
    opening: [deployStep('boot_ramdisk')],
    closing: [deployStep('tear_down_agent'), ...bootInstance],
    cleanup: [deployStep('collect_logs'), ...makeSafe],
    asRequested: true,
    inBand: inBand('service'),
    fault: 'service failure',
  },
  // what brings an instance back whose service has failed or was aborted
  restore: {
    ...common,
    events: { done: 'done', fail: 'fail' },
    target: 'active',
    opening: [powerStep('power_off'), ...bootInstance],
    closing: [],
    cleanup: makeSafe,
  },
  rescue: {
    ...common,
    events: { ...working, done: 'done' },
    target: 'rescue',
    opening: [deployStep('boot_ramdisk'), deployStep('finalize_rescue'), deployStep('switch_to_tenant_network')],
    closing: [],
    cleanup: [deployStep('collect_logs'), ...makeSafe],
  },
  unrescue: {
    ...common,
    events: { done: 'done', fail: 'fail' },
    target: 'active',
    opening: [powerStep('power_off'), ...bootInstance],
    closing: [],
    cleanup: makeSafe,
  },
  adopt: {
    ...common,
    events: { done: 'done', fail: 'fail' },
    target: 'active',
    opening: [powerStep('verify_power')],
    closing: [],
    cleanup: [],
  },
  teardown: {
    ...common,
    events: { done: 'clean', fail: 'fail' },
    target: 'available',
    opening: [...makeSafe, deployStep('release_instance')],
    closing: [],
    beforeWipe: [deployStep('owe_wipe')],
    cleanup: [],
    next: 'clean',
  },
  // seed 001's order; the instance runs on, and the node keeps its state
  decommission: {
    ...common,
    events: {},
    target: null,
    opening: [
      clusterStep('drain'),
      clusterStep('clear_labels'),
      clusterStep('remove_etcd'),
      clusterStep('wait_for_etcd'),
      clusterStep('shutdown_kubelet'),
    ],
    closing: [],
    cleanup: [],
  },
  // in place of `clean`, off the tenant network; it ends with the machine off, as seed 001 wants, fast track or not
  wipe: {
    ...common,
    events: { ...working, done: 'done' },
    target: 'available',
    opening: [deployStep('boot_ramdisk')],
    // proved, and off every network: what the receipt says is so when it is signed
    closing: [
      deployStep('wipe_disks', 0, { inBand: { destroys: 'all' } }),
      ...leaveRamdisk,
      deployStep('sign_receipt'),
    ],
    cleanup: [deployStep('collect_logs'), ...makeSafe],
    asRequested: true,
    inBand: inBand('clean'),
    ramdiskNetwork: 'cleaning',
    fault: 'clean failure',
  },
  leave_cluster: {
    ...common,
    events: {},
    target: null,
    opening: [clusterStep('remove_node')],
    closing: [],
    cleanup: [],
  },
};

/** Whether the kind leaves the node's state alone: it is about the clusters that the node is part of. */
export function isBesideStates(kind: FlowKind): boolean {
  return Object.keys(kind.events).length === 0;
}
