import { requireAction } from '#conductor/flows/actions/action-lease.ts';
import { findOpenFlow, insertFlow } from '#conductor/flows/flow-store.ts';
import { type DecommissionPlan, planDecommission, planLeaveCluster } from '#conductor/flows/plan-decommission.ts';
import { requireNoFlow } from '#conductor/flows/require-no-flow.ts';
import { requireUnmoved, type SeenNode } from '#conductor/flows/require-unmoved.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { lookForConductor, requireLiveConductor } from '#conductor/kernel/conductors/node-conductor.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { type DecommissionTimeouts, decommissionTimeouts } from '#conductor/model/cluster-timeouts.ts';
import type { FlowKindName } from '#conductor/model/flow-states.ts';
import type { PlannedStep } from '#conductor/model/planned-step.ts';
import { transientStates } from '#conductor/model/provision-states.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { requireUnprotected } from '#conductor/nodes/protected-node.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { readEtcdSite } from '#conductor/sites/revisions/read-etcd-site.ts';
import { readRevision } from '#conductor/sites/revisions/read-revision.ts';
import { AppError } from '#shared/errors/app-error.ts';

export type { DecommissionTimeouts };
export { decommissionTimeouts };

export interface LeaveClusterRequest {
  /** A node that the cluster does not have is done, also one whose instance is deployed. */
  readonly notInClusterOk: boolean;
  readonly caller: Pick<Caller, 'user' | 'project' | 'via'>;
  readonly actionId?: string | undefined;
  /** Of the lease that the action is run under. */
  readonly actionToken?: number | undefined;
  /** What it was decided from: nothing is begun on a node that has moved on since. */
  readonly seen?: SeenNode | undefined;
}

export type DecommissionRequest = LeaveClusterRequest & DecommissionPlan;

type BesideKind = Extract<FlowKindName, 'decommission' | 'leave_cluster' | 'enter_service'>;
type Context = Pick<
  SitesContext,
  'db' | 'secrets' | 'clock' | 'config' | 'conductors' | 'nudge' | 'networks' | 'drivers' | 'log'
>;

/**
 * Has the node taken out of its Kubernetes and etcd clusters, by a flow that leaves its state and its instance alone. It
 * ends at once where there are no such clusters.
 * @throws AppError `invalid_argument` for timeouts that can't be, a node without a name, in maintenance or in a state in
 * which something is under way; `not_found` when the revision has no such node; `conflict` while a flow is under way,
 * naming it; `node_locked`, `unavailable`, `lease_lost` and `forbidden` as `requestProvision`
 */
export async function requestDecommission(
  context: Context,
  node: NodeRow,
  { revisionId, timeouts, force, ...request }: DecommissionRequest,
): Promise<void> {
  const name = nameInClusters(node);
  const site = await readRevision(context, revisionId);
  if (!site.nodes.has(name))
    throw new AppError('not_found', `the design of revision ${revisionId} has no node ${name}`);
  const { etcdClusters } = await readEtcdSite(context, { revisionId, site });
  const clusters = {
    node: name,
    hasKubernetes: context.config.kubeconfigFile !== undefined,
    hasEtcd: etcdClusters.length > 0,
    notInClusterOk: request.notInClusterOk,
  };
  const steps = planDecommission(clusters, { revisionId, timeouts, force });
  await startBeside(context, node, { ...request, kind: 'decommission', steps });
}

/**
 * Has the node removed from its Kubernetes cluster, where it must be cordoned, drained and free of added labels.
 * @throws AppError as `requestDecommission`
 */
export async function requestLeaveCluster(
  context: Context,
  node: NodeRow,
  request: LeaveClusterRequest,
): Promise<void> {
  const hasKubernetes = context.config.kubeconfigFile !== undefined;
  const { notInClusterOk } = request;
  const steps = planLeaveCluster({ node: nameInClusters(node), hasKubernetes, notInClusterOk });
  await startBeside(context, node, { ...request, kind: 'leave_cluster', steps });
}

function nameInClusters({ name, uuid }: NodeRow): string {
  if (name !== null) return name;
  throw new AppError('invalid_argument', `node ${uuid} has no name, by which its clusters know it`);
}

/** A flow that moves no state. @throws AppError as `requestDecommission` */
export async function startBeside(
  context: Context,
  node: NodeRow,
  {
    kind,
    steps,
    caller,
    actionId,
    actionToken: token,
    seen,
  }: Omit<LeaveClusterRequest, 'notInClusterOk'> & {
    readonly kind: BesideKind;
    readonly steps: readonly PlannedStep[];
  },
): Promise<void> {
  await lookForConductor(context, node);
  requireLiveConductor(context, node);
  await changeUnlocked(context, node.uuid, async (tx, current) => {
    if (actionId !== undefined && token !== undefined) await requireAction(tx, { actionId, token, isTeardown: true });
    requireNoFlow(current, await findOpenFlow(tx, node.uuid), kind);
    await requireUnmoved(tx, current, seen);
    requirePermitted(current, kind);
    await updateNode(tx, node.uuid, { lastError: null });
    await insertFlow(tx, { nodeUuid: node.uuid, kind, requestedBy: caller.user, actionId, steps });
  });
  context.nudge(node.uuid);
}

/** As of the verbs that end an instance, whose first part it is. */
function requirePermitted(node: NodeRow, kind: BesideKind): void {
  if (transientStates.has(node.provisionState)) {
    throw new AppError(
      'invalid_argument',
      `'${kind}' is not possible on node ${node.uuid} while it is in state '${node.provisionState}': wait until that ends`,
    );
  }
  if (node.maintenance) {
    throw new AppError('invalid_argument', `Node ${node.uuid} is in maintenance: '${kind}' is not possible.`);
  }
  if (kind === 'decommission') requireUnprotected(node);
}
