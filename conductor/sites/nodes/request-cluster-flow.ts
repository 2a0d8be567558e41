import { and, desc, eq } from 'drizzle-orm';
import { readNode } from '#conductor/cluster/kubernetes/client/objects.ts';
import { withSharedCluster } from '#conductor/cluster/kubernetes/client/share-cluster.ts';
import { findOpenFlow, insertFlow } from '#conductor/flows/log/flow-store.ts';
import {
  type DecommissionPlan,
  planDecommission,
  planLeaveCluster,
  planService,
} from '#conductor/flows/plan/plan-cluster-steps.ts';
import { requireNoFlow, requireUnmoved, type SeenNode } from '#conductor/flows/request/require-no-flow.ts';
import { requireAction } from '#conductor/flows/site-actions/action-lease.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { lookForConductor, requireLiveConductor } from '#conductor/kernel/conductors/node-conductor.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { FlowKindName, InstanceAnswer } from '#conductor/model/flows/flow-states.ts';
import type { PlannedStep } from '#conductor/model/flows/planned-step.ts';
import { transientStates } from '#conductor/model/provision-states.ts';
import { type RequestIds, requestIdsOf } from '#conductor/model/request-ids.ts';
import { etcdStepDefaults } from '#conductor/model/site/cluster-timeouts.ts';
import { findDeployBoot, wentByKexec } from '#conductor/nodes/deploy-boot.ts';
import { requireUnprotected } from '#conductor/nodes/node-guards.ts';
import { hasFakeDeploy } from '#conductor/nodes/node-interfaces.ts';
import { changeUnlocked } from '#conductor/nodes/node-lock.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { type Membership, noteRegistration, readMemberships } from '#conductor/sites/nodes/membership-store.ts';
import { type NodeOrder, type SiteWork, siteCaller } from '#conductor/sites/nodes/node-order.ts';
import { readRevision } from '#conductor/sites/revisions/check-revision.ts';
import { readEtcdSite } from '#conductor/sites/revisions/find-design.ts';
import type { Site, SiteNode, SiteSettings } from '#conductor/sites/site.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

interface LeaveClusterRequest {
  /** A node that the cluster does not have is done, also one whose instance is deployed. */
  readonly notInClusterOk: boolean;
  readonly caller: Pick<Caller, 'user' | 'project' | 'via' | keyof RequestIds>;
  readonly actionId?: string | undefined;
  /** Token of the lease that the action is run under. */
  readonly actionToken?: number | undefined;
  /** State that the request was decided from: nothing is begun on a node that has moved on since. */
  readonly seen?: SeenNode | undefined;
}

type DecommissionRequest = LeaveClusterRequest & DecommissionPlan;

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
    await insertFlow(tx, {
      nodeUuid: node.uuid,
      kind,
      requestedBy: caller.user,
      ...requestIdsOf(caller),
      actionId,
      steps,
    });
  });
  context.nudge(node.uuid);
}

/** Refuses what the verbs that end an instance refuse, whose first part it is. */
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

/**
 * Has the node that was deployed waited for, by a flow that ends when it is in service.
 * @throws AppError as `requestDecommission`
 */
export async function requestService(
  context: SitesContext,
  row: NodeRow,
  {
    action,
    site,
    order: { node: wanted, teardown },
    seen,
  }: SiteWork & { readonly order: Pick<NodeOrder, 'node' | 'teardown'>; readonly seen: SeenNode },
): Promise<void> {
  const { db, config } = context;
  const membership = (await readMemberships(db, [row.uuid])).get(row.uuid);
  const hasKubernetes = config.kubeconfigFile !== undefined || teardown?.kubernetes === true;
  const needs = serviceNeeds(wanted, site, { row, membership, hasKubernetes });
  const { settings } = site;
  const times = { timeout: joinSeconds(settings), every: settings.nodeStatusInterval };
  const deployedAfter = (await lastDeploy(db, row.uuid))?.getTime() ?? 0;
  // what has joined since is what is waited for
  const earlier = (membership?.registrations ?? []).filter(({ at }) => Date.parse(at) <= deployedAfter);
  const uids = earlier.map(({ uid }) => uid);
  const bootIds = earlier.flatMap(({ bootId }) => bootId ?? []);
  const steps = planService({
    node: wanted.name,
    byKexec: wentByKexec((await findDeployBoot(db, row.uuid))?.output),
    ...(needs.kubernetes ? { kubernetes: { uids, bootIds, deployedAfter, ...times } } : {}),
    ...(needs.etcd.length > 0
      ? { etcd: { clusters: needs.etcd, revisionId: action.revisionId, timeout: etcdStepDefaults.readyTimeout } }
      : {}),
    answers: { all: needs.answers, inKubernetes: needs.kubernetes, ...times },
  });
  const { id: actionId, token: actionToken } = action;
  const caller = siteCaller(action);
  await startBeside(context, row, { kind: 'enter_service', steps, caller, actionId, actionToken, seen });
}

async function lastDeploy(db: Queryable, nodeUuid: string): Promise<Date | undefined> {
  const [flow] = await db
    .select({ startedAt: flows.startedAt })
    .from(flows)
    .where(and(eq(flows.nodeUuid, nodeUuid), eq(flows.kind, 'deploy')))
    .orderBy(desc(flows.startedAt))
    .limit(1);
  return flow?.startedAt;
}

/**
 * Remembers what the cluster has of a node that is about to be deployed, for what joins later must be another. A cluster
 * that can't be asked now holds no deploy up: then the times decide.
 */
export async function noteBeforeDeploy(context: SitesContext, { uuid, name }: NodeRow): Promise<void> {
  const { db, database, config, log } = context;
  if (config.kubeconfigFile === undefined || name === null) return;
  try {
    const { metadata, status } = await withSharedCluster(database, config.kubeconfigFile, (cluster) =>
      readNode(cluster, name),
    );
    const seen = { uid: metadata.uid, bootId: status?.nodeInfo?.bootID || undefined };
    await db.transaction((tx) => noteRegistration(tx, uuid, seen));
  } catch (error) {
    log.debug({ node: uuid, err: errorChain(error) }, 'the cluster has nothing of the node before its deploy');
  }
}

/** Conditions that have to come about before a node's deploy counts. */
interface ServiceNeeds {
  /** It is Ready in Kubernetes. */
  readonly kubernetes: boolean;
  /** It has a voting member in each of these that there is still. */
  readonly etcd: readonly string[];
  readonly answers: readonly InstanceAnswer[];
}

/**
 * A node joins Kubernetes when it was a member, or its documents say so; of etcd it is a member again where it was one:
 * it left clusters of the committed revision, whatever revision it is deployed from (`find-design.ts`), and the step that
 * waits knows which there are. A deploy that is only pretended joins nothing. Pure.
 */
export function serviceNeeds(
  node: Pick<SiteNode, 'inService'>,
  { settings }: Pick<Site, 'settings'>,
  known: {
    readonly row: Parameters<typeof hasFakeDeploy>[0];
    readonly membership: Membership | undefined;
    /** A conductor that runs the action has a kubeconfig, or had one when the action began. */
    readonly hasKubernetes: boolean;
  },
): ServiceNeeds {
  const { row, membership, hasKubernetes } = known;
  if (hasFakeDeploy(row)) return { kubernetes: false, etcd: [], answers: [] };
  const { kubernetes, answers = [] } = node.inService ?? {};
  const wasMember = (membership?.registrations.length ?? 0) > 0;
  return {
    kubernetes: hasKubernetes && (kubernetes ?? (wasMember || settings.nodesJoin)),
    etcd: membership?.etcdClusters ?? [],
    answers,
  };
}

/** Pure. */
export function needsService({ kubernetes, etcd, answers }: ServiceNeeds): boolean {
  return kubernetes || etcd.length > 0 || answers.length > 0;
}

/** Seconds that a node has to join, and its instance to answer. Pure. */
export function joinSeconds({ joinWait, nodeStatusTimeout }: SiteSettings): number {
  return joinWait + nodeStatusTimeout;
}

/** Seconds for all that a node of the site may have to wait for, one after another. Pure. */
export function serviceSeconds(settings: SiteSettings): number {
  // half of the first for what went by kexec: restartIfSilent
  return 2.5 * joinSeconds(settings) + etcdStepDefaults.readyTimeout;
}
