import type { CoreStep, FlowKind, InBandSteps } from '#conductor/model/flows/flow-kind.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { nextProvisionState, type ProvisionState, type VerbEvent } from '#conductor/model/provision-states.ts';
import type { DiskLoss, StepKind } from '#shared/wire/step.ts';

const deployStep = (step: string, priority = 0, destroys?: DiskLoss): CoreStep => ({
  interface: 'deploy',
  step,
  priority,
  ...(destroys && { inBand: { destroys } }),
});
const powerStep = (step: string): CoreStep => ({ interface: 'power', step, priority: 0 });
const clusterStep = (step: string): CoreStep => ({ interface: 'cluster', step, priority: 0 });

const inBand = (kind: StepKind, window?: InBandSteps['window']): InBandSteps => ({
  kind,
  executeCommand: `${kind}.execute_${kind}_step`,
  versionKey: `${kind}_version`,
  ...(window ? { window } : {}),
});

const working = { wait: 'wait', resume: 'resume', fail: 'fail' } as const;
const leaveRamdisk = [deployStep('tear_down_agent'), deployStep('leave_network')];
const makeSafe = [powerStep('power_off'), deployStep('leave_network')];
const bootInstance = [deployStep('switch_to_tenant_network'), deployStep('boot_instance')];
const ramdisk = ['power', 'management', 'boot', 'network'] as const;
const instance = ['power', 'management', 'network'] as const;
const common = {
  events: { done: 'done', fail: 'fail' },
  sorted: [],
  closing: [],
  cleanup: [],
  ramdiskNetwork: 'provisioning',
  otherRamdisk: 'fails',
} as const;
const inRamdisk = {
  ...common,
  events: { ...working, done: 'done' },
  opening: [deployStep('boot_ramdisk')],
  cleanup: [deployStep('collect_logs'), ...makeSafe],
} as const;
const cleaning = {
  ...inRamdisk,
  byInterface: 'deploy',
  during: 'cleaning',
  closing: leaveRamdisk,
  inBand: inBand('clean'),
  ramdiskNetwork: 'cleaning',
  fault: nodeFaults.clean,
} as const;
const powerCheck = {
  ...common,
  needs: ['power', 'management'],
  opening: [powerStep('verify_power')],
  onlyReads: true,
} as const;
const instanceBack = {
  ...common,
  target: 'active',
  opening: [powerStep('power_off'), ...bootInstance],
  cleanup: makeSafe,
} as const;
const inClusters = {
  ...common,
  afterFailure: { next: 'ask for it again: it goes on where this has ended' },
  events: {},
  target: null,
} as const;

export const flowKinds: Readonly<Record<FlowKindName, FlowKind>> = {
  verify: {
    ...powerCheck,
    doing: 'verifying',
    afterFailure: { next: '`baton manage NODE` checks again' },
    startedBy: ['manage'],
    during: 'verifying',
    target: 'manageable',
  },
  inspect: {
    ...inRamdisk,
    doing: 'inspecting',
    afterFailure: { next: '`baton inspect NODE` tries again, `baton manage NODE` goes on without' },
    startedBy: ['inspect'],
    needs: [...ramdisk, 'inspect'],
    byInterface: 'inspect',
    during: 'inspecting',
    target: 'manageable',
    opening: [deployStep('boot_ramdisk'), deployStep('collect_inventory')],
    closing: leaveRamdisk,
  },
  // in place of `inspect`, where the node's inspect interface asks the BMC: the machine may run on
  inspect_by_bmc: {
    ...common,
    doing: 'inspecting',
    afterFailure: {
      next: '`baton inspect NODE` tries again (`inspect_interface` `agent`: in its ramdisk), `baton manage NODE` goes on without',
    },
    needs: ['power', 'management', 'inspect'],
    during: 'inspecting',
    target: 'manageable',
    opening: [deployStep('read_machine')],
    onlyReads: true,
  },
  clean: {
    ...cleaning,
    doing: 'cleaning',
    afterFailure: { next: '`baton manage NODE` and `baton provide NODE` clean again' },
    startedBy: ['provide'],
    needs: instance,
    target: 'available',
    otherRamdisk: 'restarts',
  },
  manual_clean: {
    ...cleaning,
    doing: 'setting up RAID and BIOS',
    afterFailure: { next: '`baton manage NODE` makes it manageable, for `baton clean` or `baton provide`' },
    startedBy: ['clean'],
    needs: ramdisk,
    events: { ...working, done: 'cleaned' },
    target: 'manageable',
    asRequested: true,
  },
  deploy: {
    ...inRamdisk,
    doing: 'deploying',
    afterFailure: { next: '`baton rebuild NODE` tries again, `baton undeploy NODE` gives the node back' },
    startedBy: ['deploy', 'rebuild'],
    needs: [...ramdisk, 'deploy'],
    byInterface: 'deploy',
    during: 'deploying',
    target: 'active',
    opening: [],
    // the decomposed deploy sequence of seed 004
    sorted: [
      deployStep('deploy', 100),
      deployStep('write_image', 80, 'root disk'),
      deployStep('prepare_instance_boot', 60, 'none'),
      deployStep('tear_down_agent', 40),
      deployStep('switch_to_tenant_network', 30),
      deployStep('boot_instance', 20),
    ],
    inBand: inBand('deploy', { lowest: 41, highest: 99 }),
  },
  service: {
    ...inRamdisk,
    doing: 'servicing',
    afterFailure: { next: '`baton abort NODE` brings the instance back, `baton service NODE` tries again' },
    startedBy: ['service'],
    needs: ramdisk,
    byInterface: 'deploy',
    during: 'servicing',
    target: 'active',
    closing: [deployStep('tear_down_agent'), ...bootInstance],
    giveBack: [deployStep('bring_back_instance')],
    asRequested: true,
    inBand: inBand('service'),
    fault: 'service failure',
  },
  // what brings an instance back whose service has failed or was aborted
  restore: {
    ...instanceBack,
    doing: 'bringing the instance back',
    afterFailure: { next: '`baton abort NODE` tries again to bring the instance back', inMaintenance: true },
    during: 'servicing',
  },
  rescue: {
    ...inRamdisk,
    doing: 'rescuing',
    afterFailure: { next: '`baton rescue NODE` tries again, `baton unrescue NODE` brings the instance back' },
    startedBy: ['rescue'],
    needs: [...ramdisk, 'rescue'],
    byInterface: 'rescue',
    during: 'rescuing',
    target: 'rescue',
    opening: [deployStep('boot_ramdisk'), deployStep('finalize_rescue'), deployStep('switch_to_tenant_network')],
  },
  unrescue: {
    ...instanceBack,
    doing: 'unrescuing',
    afterFailure: { next: '`baton unrescue NODE` tries again, `baton rescue NODE` goes back to the ramdisk' },
    startedBy: ['unrescue'],
    needs: instance,
    byInterface: 'rescue',
    during: 'unrescuing',
  },
  adopt: {
    ...powerCheck,
    doing: 'adopting',
    afterFailure: { next: '`baton adopt NODE` tries again, `baton manage NODE` goes on without' },
    startedBy: ['adopt'],
    during: 'adopting',
    target: 'active',
  },
  teardown: {
    ...common,
    doing: 'tearing down',
    afterFailure: { next: '`baton undeploy NODE` tries again', inMaintenance: true },
    startedBy: ['delete'],
    needs: instance,
    during: 'deleting',
    events: { done: 'clean', fail: 'fail' },
    target: 'available',
    opening: [...makeSafe, deployStep('release_instance')],
    beforeWipe: [deployStep('owe_wipe')],
    next: 'clean',
  },
  // seed 001's order; the instance runs on, and the node keeps its state
  decommission: {
    ...inClusters,
    doing: 'taking it out of its clusters',
    opening: ['drain', 'clear_labels', 'remove_etcd', 'wait_for_etcd', 'shutdown_kubelet'].map(clusterStep),
  },
  // in place of `clean`, off the tenant network; it ends with the machine off, as seed 001 wants, fast track or not
  wipe: {
    ...cleaning,
    doing: 'wiping its disks',
    needs: ramdisk,
    afterFailure: { next: '`baton manage NODE` and `baton provide NODE` wipe again' },
    target: 'available',
    // proved, and off every network: what the receipt says is so when it is signed
    closing: [deployStep('wipe_disks', 0, 'all'), ...leaveRamdisk, deployStep('sign_receipt')],
    asRequested: true,
  },
  leave_cluster: {
    ...inClusters,
    doing: 'removing it from the Kubernetes cluster',
    opening: [clusterStep('remove_node')],
  },
  // after a site's deploy; the node is active, and its instance has to come up by itself
  enter_service: {
    ...inClusters,
    doing: 'waiting for it to be in service',
    afterFailure: { next: 'ask for it again: `update_site` waits for it once more' },
    opening: ['restart_if_silent', 'wait_until_ready', 'wait_for_members', 'wait_for_answers'].map(clusterStep),
  },
};

/** Returns whether the kind leaves the node's state alone: it is about the clusters that the node is part of. */
export function isBesideStates(kind: FlowKind): boolean {
  return Object.keys(kind.events).length === 0;
}

/** Returns the state in which a failure leaves the node; `undefined` = the one in which it was. */
export function restsIn({ during, events }: FlowKind): ProvisionState | undefined {
  return during && events.fail && nextProvisionState(during, events.fail);
}

/** Finds the kind of flow that an operator's verb starts; none = the state changes at once. */
export function kindStartedBy(event: VerbEvent): FlowKindName | undefined {
  const names = Object.keys(flowKinds) as FlowKindName[];
  return names.find((name) => flowKinds[name].startedBy?.includes(event));
}
