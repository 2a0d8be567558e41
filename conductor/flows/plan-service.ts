import { planSteps } from '#conductor/flows/plan-steps.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import type { InstanceAnswer } from '#conductor/model/instance-answer.ts';
import { type PlannedStep, stepKey } from '#conductor/model/planned-step.ts';

/** What a node that was deployed is waited for with. */
export interface ServicePlan {
  /** Its name in the clusters. */
  readonly node: string;
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

/** The steps that wait until a node is in service; those that nobody asks for are left out, but the last. Pure. */
export function planService({ node, kubernetes, etcd, answers }: ServicePlan): PlannedStep[] {
  const args: Readonly<Record<string, Record<string, unknown> | undefined>> = {
    'cluster.wait_until_ready': kubernetes && {
      timeout: kubernetes.timeout,
      every: kubernetes.every,
      uids: [...kubernetes.uids],
      boot_ids: [...kubernetes.bootIds],
      deployed_after: kubernetes.deployedAfter,
    },
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
