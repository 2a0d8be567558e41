import { planSteps } from '#conductor/flows/plan/plan-steps.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { InstanceAnswer } from '#conductor/model/flows/flow-states.ts';
import { type PlannedStep, stepKey } from '#conductor/model/flows/planned-step.ts';
import { type DecommissionTimeouts, nodeStepDefaults } from '#conductor/model/site/cluster-timeouts.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Clusters that a node is to be taken out of. */
interface ClustersOfNode {
  /** Its name in the clusters. */
  readonly node: string;
  /** The conductor knows a Kubernetes cluster. */
  readonly hasKubernetes: boolean;
  /** The site's documents have etcd clusters. */
  readonly hasEtcd: boolean;
  readonly notInClusterOk: boolean;
}

export interface DecommissionPlan {
  /** Revision of the site's documents. */
  readonly revisionId: number;
  readonly timeouts: DecommissionTimeouts;
  /** Though it is the last Ready node of its cluster, or of a role. */
  readonly force: boolean;
}

/**
 * Plans the steps that take a node out of its clusters, in seed 001's order; those of clusters that there are not are left
 * out. Pure.
 * @throws AppError `invalid_argument` unless the drain's grace period is below its timeout
 */
export function planDecommission(
  clusters: ClustersOfNode,
  { revisionId, timeouts, force }: DecommissionPlan,
): PlannedStep[] {
  const { drainTimeout, drainGracePeriod } = timeouts;
  if (drainGracePeriod >= drainTimeout) {
    throw new AppError(
      'invalid_argument',
      `drain-node-grace-period: ${drainGracePeriod} s must be less than drain-node-timeout, which is ${drainTimeout} s`,
    );
  }
  // before pods and labels go etcd must be able to do without it
  const guard = { force, ...(clusters.hasEtcd ? { revision: revisionId } : {}) };
  const args: Readonly<Record<string, Record<string, unknown>>> = {
    'cluster.drain': { timeout: drainTimeout, grace_period: drainGracePeriod, ...guard },
    'cluster.clear_labels': { timeout: timeouts.clearLabelsTimeout, ...guard },
    'cluster.remove_etcd': { timeout: timeouts.removeEtcdTimeout, revision: revisionId },
    'cluster.wait_for_etcd': { timeout: timeouts.etcdReadyTimeout, revision: revisionId },
    'cluster.shutdown_kubelet': { timeout: nodeStepDefaults.shutdownKubeletTimeout },
  };
  return withArgs(planSteps(flowKinds.decommission, { requested: [] }), clusters, args).filter((step) =>
    step.step.endsWith('_etcd') ? clusters.hasEtcd : clusters.hasKubernetes,
  );
}

/** Plans the step that removes a node from its Kubernetes cluster; none where the conductor knows no cluster. Pure. */
export function planLeaveCluster(clusters: Omit<ClustersOfNode, 'hasEtcd'>): PlannedStep[] {
  if (!clusters.hasKubernetes) return [];
  const args = { 'cluster.remove_node': { timeout: nodeStepDefaults.removeFromClusterTimeout } };
  return withArgs(planSteps(flowKinds.leave_cluster, { requested: [] }), clusters, args);
}

function withArgs(
  steps: readonly PlannedStep[],
  { node, notInClusterOk }: Pick<ClustersOfNode, 'node' | 'notInClusterOk'>,
  args: Readonly<Record<string, Record<string, unknown>>>,
): PlannedStep[] {
  return steps.map((step) => ({ ...step, args: { node, ...args[stepKey(step)], not_in_cluster_ok: notInClusterOk } }));
}

/** Conditions that a node which was deployed is waited for with. */
interface ServicePlan {
  /** Its name in the clusters. */
  readonly node: string;
  /** Its machine went into the instance by kexec. */
  readonly byKexec: boolean;
  /** To be Ready there, as somebody else than these; absent = nobody waits for it. */
  readonly kubernetes?: {
    readonly uids: readonly string[];
    readonly bootIds: readonly string[];
    /** Milliseconds since 1970. */
    readonly deployedAfter: number;
    /** Seconds. */
    readonly timeout: number;
    readonly every: number;
  };
  /** To have a voting member in each. */
  readonly etcd?: { readonly clusters: readonly string[]; readonly revisionId: number; readonly timeout: number };
  readonly answers: {
    readonly all: readonly InstanceAnswer[];
    readonly inKubernetes: boolean;
    readonly timeout: number;
    readonly every: number;
  };
}

/** Share of the time to join, for what comes up by kexec: the rest of a start is no firmware's. */
const kexecShare = 0.5;

/** Plans the steps that wait until a node is in service; those that nobody asks for are left out, but the last. Pure. */
export function planService({ node, byKexec, kubernetes, etcd, answers }: ServicePlan): PlannedStep[] {
  const joined = kubernetes && {
    uids: [...kubernetes.uids],
    boot_ids: [...kubernetes.bootIds],
    deployed_after: kubernetes.deployedAfter,
  };
  const hasSigns = joined !== undefined || answers.all.length > 0;
  const args: Readonly<Record<string, Record<string, unknown> | undefined>> = {
    'cluster.restart_if_silent':
      byKexec && hasSigns
        ? {
            timeout: Math.ceil(answers.timeout * kexecShare),
            every: answers.every,
            answers: [...answers.all],
            ...(joined ? { kubernetes: joined } : {}),
          }
        : undefined,
    'cluster.wait_until_ready': joined && { timeout: kubernetes.timeout, every: kubernetes.every, ...joined },
    'cluster.wait_for_members': etcd && {
      timeout: etcd.timeout,
      clusters: [...etcd.clusters],
      revision: etcd.revisionId,
    },
    'cluster.wait_for_answers': {
      timeout: answers.timeout,
      every: answers.every,
      answers: [...answers.all],
      in_kubernetes: answers.inKubernetes,
    },
  };
  return planSteps(flowKinds.enter_service, { requested: [] }).flatMap((step) => {
    const own = args[stepKey(step)];
    return own ? [{ ...step, args: { node, ...own } }] : [];
  });
}
