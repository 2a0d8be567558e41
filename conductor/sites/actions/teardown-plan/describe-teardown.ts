import type { PlannedDiskView, TeardownStepView, WipePlan } from '#conductor/api/teardown-plan.ts';
import { decommissionLabel } from '#conductor/cluster/kubernetes/client/node-labels.ts';
import { simulatedWipe } from '#conductor/flows/log/fakes-flow.ts';
import type { InstanceAnswer } from '#conductor/model/flows/flow-states.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { KnownDisk } from '#conductor/model/known-disk.ts';
import { nodeStepDefaults } from '#conductor/model/site/cluster-timeouts.ts';
import { type DiskMarks, matchDisks } from '#conductor/nodes/inspection/match-disks.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import { protectedNames } from '#shared/disks/skip-list.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { DiskIdentity, OsDisk } from '#shared/wire/erase-result.ts';

interface StepWork {
  readonly node: string;
  readonly teardown: TeardownOrder;
  /** Names of the documents' etcd clusters. */
  readonly etcdClusters: readonly string[];
  readonly revisionId: number;
  /** Nothing is on it that has to be released first. */
  readonly isFree: boolean;
  /** Its deploy interface is fake: no ramdisk boots. */
  readonly isFake: boolean;
  /** Seconds for its node to get into service again, and then its members. */
  readonly serviceSeconds: { readonly join: number; readonly etcd: number };
  /** Questions to its instance that its documents ask for. */
  readonly answers: readonly InstanceAnswer[];
}

/** All that is done to a node, in order, with what each failure leaves behind. Pure. */
export function describeSteps(work: StepWork): TeardownStepView[] {
  const { kubernetes, etcd } = work.teardown;
  const kubelet = kubernetes ? [shutdownKubelet(work)] : [];
  return [
    ...(kubernetes ? drainAndLabels(work) : []),
    ...(etcd ? leaveEtcd(work) : []),
    ...kubelet,
    ...destroy(work),
    ...(kubernetes ? [leaveCluster(work)] : []),
    ...afterwards(work),
  ];
}

const again = 'remove the cause and start the action again: it skips what is done';
const keepsLabel = (node: string): string =>
  `by hand: baton restore-labels ${node} (or, in this order, kubectl label node ${node} ${decommissionLabel}-, kubectl uncordon ${node})`;

const isClustered = ({ kubernetes, etcd }: TeardownOrder): boolean => kubernetes || etcd;

function drainAndLabels({ node, teardown: { timeouts } }: StepWork): TeardownStepView[] {
  const { drainTimeout, drainGracePeriod, clearLabelsTimeout } = timeouts;
  const end =
    drainGracePeriod === 0
      ? 'are deleted at once, so their containers may still run'
      : `get ${drainGracePeriod} s each`;
  return [
    {
      step: 'cluster.drain',
      does: `cordons ${node} and evicts its pods, which ${end}; disruption budgets are honoured`,
      timeout: drainTimeout,
      on_failure: `the action ends; ${node} stays cordoned and in service, nothing was destroyed; ${again}, or: baton restore-labels ${node} (kubectl uncordon ${node})`,
    },
    {
      step: 'cluster.clear_labels',
      does: `takes away all labels but the kubelet's own, and waits for pods to settle`,
      timeout: clearLabelsTimeout,
      on_failure: `the action ends; ${node} stays cordoned and in service, without the labels that its report lists with their values; ${again}, or: baton restore-labels ${node}`,
    },
  ];
}

function leaveEtcd({ node, teardown: { timeouts }, etcdClusters }: StepWork): TeardownStepView[] {
  return [
    {
      step: 'cluster.remove_etcd',
      does: `has members on ${node} leave ${etcdClusters.join(', ')}, leaders moved first; refused where a quorum or minimum_members would be lost`,
      timeout: timeouts.removeEtcdTimeout,
      on_failure: `the action ends; ${node} stays cordoned and in service, its data untouched; members that have left already are in the report: they come back only as new members, with an empty data directory`,
    },
    {
      step: 'cluster.wait_for_etcd',
      does: `waits until ${etcdClusters.join(', ')} ${etcdClusters.length === 1 ? 'is' : 'are'} well without ${node}, asked every 30 s`,
      timeout: timeouts.etcdReadyTimeout,
      on_failure: `the action ends; ${node} stays cordoned and in service, without its part in etcd; mend etcd, then start the action again`,
    },
  ];
}

function shutdownKubelet({ node }: StepWork): TeardownStepView {
  return {
    step: 'cluster.shutdown_kubelet',
    does: `labels ${node} promenade-decomission=enabled, upon which the daemon set stops its kubelet`,
    timeout: nodeStepDefaults.shutdownKubeletTimeout,
    on_failure: `is reported, and holds nothing up: the machine is powered off next; to have ${node} back all the same, ${keepsLabel(node)}`,
  };
}

function destroy({ node, teardown, isFree, isFake }: StepWork): TeardownStepView[] {
  const release: TeardownStepView = {
    step: 'deleted',
    does: 'powers it off, takes its ports off the tenant network, releases its instance and reservation',
    timeout: null,
    on_failure: `the action ends; ${node} is in 'error'${isClustered(teardown) ? ', out of its clusters' : ''}, its disks not wiped; ${again}`,
  };
  const wipe: TeardownStepView = {
    step: 'wipe',
    does: isFake
      ? simulatedWipe
      : `boots the ramdisk on the cleaning network and erases ${teardown.preserveLocalStorage ? 'the OS disk alone' : 'all local storage'}, read back as proof; powers it off; signs a receipt`,
    timeout: null,
    on_failure: `the action ends; ${node} is in 'clean failed' and in maintenance, never available; some of its disks may hold data still, which the report and the node's logs show; ${again}`,
  };
  return isFree ? [wipe] : [release, wipe];
}

function leaveCluster({ node }: StepWork): TeardownStepView {
  return {
    step: 'cluster.remove_node',
    does: `removes ${node} from the Kubernetes cluster, once it is drained, cordoned and free of labels`,
    timeout: nodeStepDefaults.removeFromClusterTimeout,
    on_failure: `the action ends; ${node} is wiped and off, in 'manageable', and still in the cluster's list, not ready; by hand: kubectl delete node ${node}`,
  };
}

function afterwards(work: StepWork): TeardownStepView[] {
  const { teardown } = work;
  if (teardown.afterwards !== 'deploy') return neverAgain(work);
  return [...recreate(work), ...enterService(work)];
}

/** Nothing is waited for of what is only pretended. */
function enterService({ node, teardown, etcdClusters, isFake, serviceSeconds, answers }: StepWork): TeardownStepView[] {
  if (isFake) return [];
  const onFailure = `the action ends; ${node} is deployed and 'active', and does not count as deployed; nothing else is taken out; mend it, then start update_site: it waits for it once more`;
  const joins = {
    step: 'cluster.wait_until_ready',
    does: `waits until ${node} is Ready in Kubernetes again, as its new instance, if it was a member or its documents say so; nothing else is taken out before`,
    timeout: serviceSeconds.join,
  };
  const hasMembers = {
    step: 'cluster.wait_for_members',
    does: `waits until ${node} has a healthy voting member again in ${etcdClusters.join(', ')}, where it had one`,
    timeout: serviceSeconds.etcd,
  };
  const answering = {
    step: 'cluster.wait_for_answers',
    does: `waits until ${node} answers: ${answers.map(({ by, target }) => `${by} ${target}`).join(', ')}`,
    timeout: serviceSeconds.join,
  };
  return [
    ...(teardown.kubernetes ? [joins] : []),
    ...(teardown.etcd ? [hasMembers] : []),
    ...(answers.length > 0 ? [answering] : []),
  ].map((each) => ({ ...each, on_failure: onFailure }));
}

function neverAgain({ node, teardown }: StepWork): TeardownStepView[] {
  if (teardown.afterwards === 'keep') return [];
  return [
    {
      step: 'remove',
      does: 'has Baton forget it, with its ports, history and logs; the machine stays off',
      timeout: null,
      on_failure: `the action ends; ${node} is wiped, off and 'manageable'; by hand: baton node delete ${node}`,
    },
  ];
}

function recreate({ node, teardown, revisionId }: StepWork): TeardownStepView[] {
  return [
    {
      step: 'prepare',
      does: `brings it in line with revision ${revisionId}, sets up RAID and BIOS where they differ, inspects it where it never was, reserves it`,
      timeout: null,
      on_failure: `the action ends; ${node} is wiped${isClustered(teardown) ? ', off and out of its clusters' : ' and off'}; ${again}: it wipes it once more; or update_site, which ${teardown.preserveLocalStorage ? 'leaves the kept disks alone, and does not build RAID over them' : 'only cleans it where it has to'}`,
    },
    {
      step: 'deploy',
      does: `deploys what revision ${revisionId} says`,
      timeout: null,
      on_failure: `the action ends; ${node} is in 'deploy failed', reserved for the site; update_site deploys it without another wipe${teardown.preserveLocalStorage ? ', and leaves the kept disks alone' : ''}`,
    },
  ];
}

interface Machine {
  /** Disks of the last inventory; `undefined` = there was none. */
  readonly disks: readonly KnownDisk[] | undefined;
  /** `null` = unknown. */
  readonly osDisk: OsDisk | null;
  readonly properties: JsonObject;
}

/** Which disks a wipe erases, by the last inventory; the agent decides by what it finds then. Pure. */
export function describeWipe({ disks, osDisk, properties }: Machine, preserve: boolean): WipePlan {
  const unknownOs =
    preserve && osDisk === null
      ? ['which disk holds the operating system is not recorded: a wipe that preserves local storage may be refused']
      : [];
  if (disks === undefined) return { wiped: [], kept: [], remarks: [...unknownOs, 'the node was never inspected'] };
  const skip = skipListOf(properties, disks);
  const whole = disks.filter(({ type }) => type === 'disk');
  const { pairs, unmet } = matchDisks((osDisk?.disks ?? []).map(marksOf), whole.map(marksOf));
  const ofOs = new Set([...pairs.keys()].map(({ device }) => device));
  const views = whole.map((disk): PlannedDiskView => {
    const { name, serial, wwn, model, sizeBytes } = disk;
    const holdsOs = ofOs.has(name);
    const kept = skip.names.has(name)
      ? 'it is on the skip list'
      : preserve && !holdsOs
        ? 'local storage is preserved'
        : null;
    return { name, serial, wwn, model, size_bytes: sizeBytes || null, holds_os: holdsOs, kept };
  });
  return {
    wiped: views.filter(({ kept }) => kept === null),
    kept: views.filter(({ kept }) => kept !== null),
    remarks: [
      ...unknownOs,
      ...skip.remarks,
      ...unmet.map(
        ({ device, serial }) =>
          `the last inventory does not have the OS disk ${device} (serial ${serial ?? 'unknown'})`,
      ),
    ],
  };
}

function skipListOf(properties: JsonObject, disks: readonly KnownDisk[]) {
  try {
    return { names: protectedNames(properties, disks), remarks: [] };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { names: new Set<string>(), remarks: [`the wipe will be refused: ${errorChain(error)}`] };
  }
}

function marksOf(disk: DiskIdentity | KnownDisk): DiskMarks {
  const { name, serial, wwn, model } = disk;
  const all = 'serials' in disk ? { serials: disk.serials, wwns: disk.wwns } : {};
  return { device: name, serial, wwn, model, ...all };
}
