import { describeClusterChange, type RecordedChange, readReport } from '#conductor/cluster/cluster-changes.ts';
import { decommissionLabel } from '#conductor/cluster/kubernetes/client/node-labels.ts';
import { simulatedWipe } from '#conductor/flows/log/fakes-flow.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';
import { describeLost } from '#conductor/model/flows/step-note.ts';
import type { Remark } from '#conductor/model/remarks/remark.ts';
import type { RemarkCode } from '#conductor/model/remarks/remark-words.ts';
import { EraseResult } from '#shared/wire/erase-result.ts';

/** A flow of a teardown, as far as it is shown. */
export interface ReportedFlow {
  readonly flow: Pick<FlowRow, 'kind' | 'state'>;
  readonly steps: readonly Pick<
    FlowStepRow,
    'interface' | 'step' | 'plugin' | 'phase' | 'state' | 'output' | 'error' | 'waitingFor'
  >[];
}

/** Sentences for people, each list in the order of things. */
export interface WhatRemains {
  readonly done: readonly string[];
  /** Wipes that nothing proves, since there was nothing to wipe. */
  readonly simulated: readonly string[];
  /** Obstacles of a step that has ended in failure. */
  readonly failed: readonly string[];
  readonly notBegun: readonly string[];
  /** Work that nobody but a person does, to have the node back as it was or to finish what was begun. */
  readonly byHand: readonly string[];
}

/**
 * Summarizes what a teardown of a node has come to, from its flows in the order in which they ran: `decommission`,
 * `teardown`, `wipe`, `leave_cluster`. Nothing of it is undone by itself. Pure.
 * @param wayToWipe of a node that owes a wipe: what pays it. Flows that are not shown may have paid it meanwhile.
 */
export function summarizeTeardown(node: string, flows: readonly ReportedFlow[], wayToWipe?: string): WhatRemains {
  const steps = flows.flatMap(({ flow, steps: own }) =>
    own.filter(({ phase }) => phase === 'main').map((step) => ({ ...step, kind: flow.kind, ended: hasEnded(flow) })),
  );
  const deeds = steps.filter(isOfClusters).flatMap(({ output }) => readReport(output).deeds);
  const wiped = steps.filter(({ step }) => step === 'wipe_disks').flatMap(({ output }) => wipedDisks(output));
  const over = steps.filter(({ state }) => state === 'succeeded').flatMap(describeEnd);
  const begun = steps.filter(({ state, ended }) => state === 'failed' || (ended && state === 'running'));
  return {
    done: [...over, ...describeRecordedChanges(deeds), ...wiped],
    // where no ramdisk boots, the step that would wipe is not in the plan
    simulated: flows
      .filter(({ flow }) => flow.kind === 'wipe' && flow.state === 'succeeded')
      .filter((each) => !each.steps.some(({ step }) => step === 'wipe_disks'))
      .map(() => `wipe ${simulatedWipe}`),
    failed: begun.flatMap((step) => [
      `${stepTitle(step)} failed: ${step.error ?? 'it was broken off'}`,
      ...(isOfClusters(step) ? lastObstacles(step) : []).map((message) => `${stepTitle(step)}: ${message}`),
    ]),
    notBegun: [
      ...steps.filter(({ state }) => state === 'skipped').map((step) => `${stepTitle(step)} was not started`),
      ...(isWipeToCome(flows) ? ['the wipe that its release was to end with was not started'] : []),
    ],
    byHand: [...forClusters(node, deeds, flows), ...forDisks(node, flows, wayToWipe), ...forSettings(flows)],
  };
}

type MainStep = ReportedFlow['steps'][number];

/** At most this many obstacles are listed; the rest are counted. */
const mostReported = 20;

/** A step that may fail ends well all the same, and what it met on its last look is what there is to report. */
function describeEnd(step: MainStep): string[] {
  const title = stepTitle(step);
  const obstacles = isOfClusters(step) ? lastObstacles(step) : [];
  if (obstacles.length > 0)
    return obstacles.map((message) => `${title} did not succeed; this does not block the flow: ${message}`);
  const { messages } = isOfClusters(step) ? readReport(step.output) : { messages: [] };
  const leftAlone = messages.filter(isAbout('pod-left-alone')).map(({ message }) => message);
  return [`${title} is done`, ...leftAlone];
}

const isAbout =
  (code: RemarkCode) =>
  ({ remark }: { readonly remark?: Remark | undefined }): boolean =>
    remark?.code === code;

function lastObstacles({ output }: Pick<MainStep, 'output'>): string[] {
  const obstacles = readReport(output).messages.filter(({ error }) => error);
  const reported = obstacles.slice(0, mostReported).map(({ message }) => message);
  return obstacles.length > mostReported ? [...reported, `and ${obstacles.length - mostReported} more`] : reported;
}

function hasEnded({ state }: ReportedFlow['flow']): boolean {
  return state === 'failed' || state === 'aborted' || state === 'succeeded';
}

function isOfClusters(step: { readonly interface: string }): boolean {
  return step.interface === 'cluster';
}

/** Pods that start elsewhere are a number. */
function describeRecordedChanges(deeds: readonly RecordedChange[]): string[] {
  const isPlain = ({ kind, remark, sure }: RecordedChange): boolean => kind === 'pod' && !remark && sure;
  const plain = deeds.filter(isPlain).length;
  return [
    ...deeds.filter((change) => !isPlain(change)).map(describeClusterChange),
    ...(plain > 0 ? [`${plain} ${plain === 1 ? 'pod was' : 'pods were'} evicted`] : []),
  ];
}

function wipedDisks(output: unknown): string[] {
  const parsed = EraseResult.safeParse(output);
  if (!parsed.success) return [];
  return parsed.data.erased.map(({ device, serial, method }) => `disk ${serial ?? device} was wiped (${method})`);
}

/** Lists what brings the node back into its clusters, or out of them to the end. */
function forClusters(node: string, deeds: readonly RecordedChange[], flows: readonly ReportedFlow[]): string[] {
  // of a node that was decommissioned twice, what was taken the second time is how it was last
  const last = new Map(deeds.map((change) => [[change.kind, change.of, change.name].join('\n'), change]));
  const of = (kind: RecordedChange['kind']): RecordedChange[] =>
    [...last.values()].filter((change) => change.kind === kind);
  const labels = of('label').map(({ name, value = '' }) => `${name}=${value}`);
  const pods = of('pod').filter(isAbout('pod-lost'));
  const isRemoved = of('node').some(({ sure }) => sure);
  const isShutDown = flows.some(({ steps }) =>
    steps.some((each) => each.step === 'shutdown_kubelet' && hasBegun(each)),
  );
  const wasCordoned = of('cordon').length === 0 && flows.some(({ steps }) => steps.some(hasMetCordon));
  const isTakenDown = flows.some(({ flow, steps }) => ends.has(flow.kind) && steps.some(hasBegun));
  return [
    ...(isRemoved
      ? [`${node} is no longer in its Kubernetes cluster: to bring it back, join it again`]
      : isTakenDown
        ? stillInCluster(node, flows)
        : [
            ...(isShutDown
              ? [
                  `to have its kubelet back: \`baton restore-labels ${node}\` (or \`kubectl label node ${node} ` +
                    `${decommissionLabel}-\`), then on ${node} \`systemctl enable --now kubelet\``,
                ]
              : []),
            ...(of('cordon').length > 0
              ? [`to allow pods on it again: \`baton restore-labels ${node}\` (or \`kubectl uncordon ${node}\`)`]
              : []),
            ...(wasCordoned
              ? [
                  `${node} was already cordoned before this action: \`baton restore-labels ${node}\` (or \`kubectl uncordon ${node}\`) allows pods on it again`,
                ]
              : []),
          ]),
    ...(labels.length > 0 && !isTakenDown
      ? [
          `to give it its labels back: \`baton restore-labels ${node}\` (or \`kubectl label node ${node} ${labels.join(' ')}\`)`,
        ]
      : []),
    ...(pods.length > 0
      ? [`pods without a controller must be created again: ${pods.map(({ name }) => name).join(', ')}`]
      : []),
    ...of('etcd member').map(
      ({ name, value, of: cluster }) =>
        `to have ${name} back in etcd cluster ${cluster ?? ''}: empty its data directory, and \`etcdctl member add ` +
        `${name}${value ? ` --peer-urls=${value.replaceAll(', ', ',')}` : ''}\``,
    ),
  ];
}

function hasMetCordon({ step, output }: MainStep): boolean {
  return step === 'drain' && readReport(output).messages.some(isAbout('cordoned-already'));
}

/** Flows after whose beginning the machine does not come back as it was. */
const ends: ReadonlySet<ReportedFlow['flow']['kind']> = new Set(['teardown', 'wipe', 'leave_cluster']);

function hasBegun({ state }: MainStep): boolean {
  return state !== 'pending' && state !== 'skipped';
}

/**
 * Lists the entries of a machine that is released or wiped: its node is nothing but an entry, which nobody else takes
 * away.
 */
function stillInCluster(node: string, flows: readonly ReportedFlow[]): string[] {
  const steps = flows.flatMap((each) => each.steps).filter(isOfClusters);
  const isOver = steps.some(({ step, state }) => step === 'remove_node' && state === 'succeeded');
  return steps.some(hasSeenNode) && !isOver
    ? [`${node} is still in its Kubernetes cluster: \`kubectl delete node ${node}\``]
    : [];
}

/** Returns whether the step has had the cluster's node before it. */
function hasSeenNode({ step, state, output }: MainStep): boolean {
  const { deeds, messages } = readReport(output);
  if (messages.some(isAbout('unknown-in-cluster'))) return false;
  if (step === 'drain') return state === 'succeeded';
  return step === 'remove_node' && deeds.length + messages.length > 0;
}

/**
 * Recognizes a node that was released for a site action which had no right to wipe by then: none of these flows has begun
 * the wipe.
 */
function isWipeToCome(flows: readonly ReportedFlow[]): boolean {
  const last = flows.findLast(({ flow }) => flow.kind === 'teardown' || flow.kind === 'wipe');
  if (last?.flow.kind !== 'teardown' || last.flow.state !== 'succeeded') return false;
  return last.steps.some(({ step }) => step === 'owe_wipe');
}

function forDisks(node: string, flows: readonly ReportedFlow[], wayToWipe: string | undefined): string[] {
  if (isWipeToCome(flows)) {
    return wayToWipe === undefined ? [] : [`the disks of ${node} were not touched by this action: ${wayToWipe}`];
  }
  const last = flows.findLast(({ flow }) => flow.kind === 'wipe');
  if (!last || (last.flow.state !== 'failed' && last.flow.state !== 'aborted')) return [];
  const wipe = last.steps.find(({ step }) => step === 'wipe_disks');
  if (wipe?.state === 'succeeded') return [];
  const touched = wipe?.state === 'skipped' || wipe?.state === 'pending' ? 'were not touched' : 'may still be readable';
  return [`the disks of ${node} ${touched}: they count as wiped only when a wipe has succeeded`];
}

/** Lists BIOS settings that still waited for a reset. */
function forSettings(flows: readonly ReportedFlow[]): string[] {
  const last = flows.at(-1);
  if (last?.flow.state !== 'failed' && last?.flow.state !== 'aborted') return [];
  return last.steps.flatMap((step) => {
    const lost = step.state === 'succeeded' ? describeLost(step.output) : undefined;
    return lost === undefined ? [] : [`${stepTitle(step)}: ${lost}`];
  });
}
