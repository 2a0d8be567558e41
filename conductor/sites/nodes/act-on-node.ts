import { releaseAllocation } from '#conductor/allocations/change-allocation.ts';
import { removeNode } from '#conductor/flows/request/remove-node.ts';
import { requestProvision } from '#conductor/flows/request/request-provision.ts';
import type { SeenNode } from '#conductor/flows/request/require-no-flow.ts';
import { requireAction } from '#conductor/flows/site-actions/action-lease.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { RequestedStep } from '#conductor/model/flows/planned-step.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import { setMaintenance } from '#conductor/nodes/change/change-node.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { designHash } from '#conductor/sites/nodes/compare-node.ts';
import { deployNode, findRevision, recordDeploy } from '#conductor/sites/nodes/deploy-node.ts';
import { alignNode, enrolNode, makeAvailable, renewAccess, reserveNode } from '#conductor/sites/nodes/enrol-node.ts';
import type { NodeAct, NodeFacts } from '#conductor/sites/nodes/node-decision.ts';
import {
  type NodeOrder,
  type NodeReport,
  type SiteWork,
  siteCaller,
  type TeardownOrder,
} from '#conductor/sites/nodes/node-order.ts';
import type { NodeDesign } from '#conductor/sites/nodes/read-design.ts';
import { type ReadNode, readFacts } from '#conductor/sites/nodes/read-facts.ts';
import {
  requestDecommission,
  requestLeaveCluster,
  requestService,
} from '#conductor/sites/nodes/request-cluster-flow.ts';
import { findImpossible } from '#conductor/sites/nodes/why-undeployable.ts';
import { readEtcdSite } from '#conductor/sites/revisions/find-design.ts';
import type { SiteNode } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';

/** A node that something is to be done about, with what that is decided from. */
export interface NodeTask {
  readonly order: NodeOrder;
  readonly facts: NodeFacts;
  readonly design: NodeDesign | undefined;
}

export interface BeatWork extends SiteWork {
  /** Gives the plugins' steps for nodes with these tags. */
  readonly pluginSteps: (tags: readonly string[]) => Promise<RequestedStep[]>;
}

/**
 * Does one thing about one node, as a request to the API would. It may be done twice: by a conductor that has died in
 * between, or by two at the same time.
 * @throws AppError as the request would.
 */
export async function actOnNode(
  context: SitesContext,
  work: BeatWork,
  { order, facts, design }: NodeTask,
  act: NodeAct,
): Promise<void> {
  const { action } = work;
  const caller = siteCaller(action);
  const wanted = order.node;
  const isOfTeardown = order.teardown !== undefined && order.phase === 'prepare';
  if (act.kind === 'enrol') return enrolNode(context, { action, wanted });
  if (act.kind === 'forget reservation') {
    if (facts.allocation) await releaseAllocation(context, facts.allocation.uuid, caller);
    return;
  }
  const { node } = facts;
  if (!node) throw new AppError('internal', `${act.kind} ${wanted.name}, which is not enrolled`);
  const seen = { node, flow: facts.flow };
  if (act.kind === 'record') return record(context, work, { order, facts });
  if (act.kind === 'end maintenance') return setMaintenance(context, node.uuid, { on: false }, caller);
  if (act.kind === 'put into maintenance') {
    return setMaintenance(context, node.uuid, { on: true, reason: act.reason }, caller);
  }
  if (act.kind === 'remove') return remove(context, work, node.uuid);
  if (act.kind === 'reserve') return reserveNode(context, { action, wanted, nodeUuid: node.uuid });
  if (act.kind === 'make available') {
    return makeAvailable(context, {
      action,
      wanted,
      nodeUuid: node.uuid,
      reserves: act.reserves,
      isTeardown: isOfTeardown,
    });
  }
  const row = design?.row ?? (await getNode(context.db, node.uuid));
  if (act.kind === 'verb') {
    const { teardown } = order;
    // what was possible when its pods left may be so no more when its disks are to be wiped
    if (act.wipes && teardown) await requirePossible(context, { ...work, name: wanted.name, teardown });
    const steps = act.verb === 'clean' ? design?.hardware : undefined;
    // its own flow it may stop, whosever the node is by now
    const isUnowned = act.verb !== 'abort';
    const { id: actionId, token: actionToken } = action;
    const isTeardown = isOfTeardown && act.verb !== 'abort';
    const wipe =
      act.wipes && order.teardown ? { preserveLocalStorage: order.teardown.preserveLocalStorage } : undefined;
    const request = { verb: act.verb, isUnowned, steps, wipe, caller, actionId, actionToken, isTeardown };
    return requestProvision(context, row, act.verb === 'abort' ? request : { ...request, seen });
  }
  if (act.kind === 'decommission' || act.kind === 'leave cluster') {
    return leaveClusters(context, work, { order, facts, row, seen }, act);
  }
  if (act.kind === 'enter service') return requestService(context, row, { ...work, order, seen });
  if (!design) throw new AppError('internal', `${act.kind} ${wanted.name}: nothing was read of it`);
  if (act.kind === 'renew access') return renewAccess(context, action, design);
  if (act.kind === 'align') return alignNode(context, { action, wanted, design });
  return deployNode(context, { action, wanted, design, seen, steps: await work.pluginSteps(wanted.tags) });
}

/** Nobody knows of it any more: not once the action was paused or stopped. */
function remove(context: SitesContext, { action }: BeatWork, nodeUuid: string): Promise<void> {
  const { id: actionId, token } = action;
  return removeNode(context, nodeUuid, siteCaller(action), async (tx) => {
    if (token !== undefined) await requireAction(tx, { actionId, token, isTeardown: true });
  });
}

/** Out of the clusters that the documents of the action's revision speak of. */
async function leaveClusters(
  context: SitesContext,
  { action, site }: BeatWork,
  {
    order: {
      teardown,
      node: { name },
    },
    facts,
    row,
    seen,
  }: Pick<NodeTask, 'order' | 'facts'> & { readonly row: NodeRow; readonly seen: SeenNode },
  { kind }: NodeAct,
): Promise<void> {
  if (!teardown) throw new AppError('internal', `${kind} ${name}, which nobody wants torn down`);
  const { id: actionId, token: actionToken, revisionId } = action;
  const { notInClusterOk, timeouts, force } = teardown;
  const request = { notInClusterOk, caller: siteCaller(action), actionId, actionToken, seen };
  if (kind === 'leave cluster') return requestLeaveCluster(context, row, request);
  if (facts.rest?.succeeded.has('decommission') !== true)
    await requirePossible(context, { action, site, name, teardown });
  // what was taken out before may have been removed for good by hand since, or was never back
  const isTakenOut = facts.rest?.succeeded.has('decommission') === true || facts.deployed?.isAwaited === true;
  return requestDecommission(context, row, {
    ...request,
    notInClusterOk: notInClusterOk || isTakenOut,
    revisionId,
    timeouts,
    force,
  });
}

/** Looked at again before the first eviction, and before the machine goes off: the clusters may be others than when the action began. */
async function requirePossible(
  context: SitesContext,
  { action, site, name, teardown }: SiteWork & { readonly name: string; readonly teardown: TeardownOrder },
): Promise<void> {
  const etcd = await readEtcdSite(context, { revisionId: action.revisionId, site });
  const leaving = { names: [name], staysOut: false, force: teardown.force, kubernetes: teardown.kubernetes };
  const why = (await findImpossible(context, etcd, leaving)).get(name);
  if (why !== undefined) throw new AppError('conflict', why, { retryable: false });
}

async function record(
  context: SitesContext,
  work: BeatWork,
  { order, facts }: Omit<NodeTask, 'design'>,
): Promise<void> {
  const { action, site } = work;
  const { node, flow } = facts;
  if (!node) return;
  const by = flow?.actionId ?? action.id;
  const isOurs = by === action.id;
  const deploy = {
    name: order.node.name,
    nodeUuid: node.uuid,
    instanceUuid: node.instanceUuid,
    actionId: by,
    revisionId: isOurs ? action.revisionId : ((await findRevision(context.db, by)) ?? action.revisionId),
    // what an earlier action's documents said is not known any more: they count as others
    designHash: isOurs ? designHash(site, order.node) : '',
    isInService: facts.rest?.awaitsService !== true,
  };
  await recordDeploy(context.db, deploy);
}

/**
 * Does all of it, so many at a time; what has not begun when the time is over is left out. In random order, so that what
 * comes to nothing again and again keeps nobody else from its turn for long.
 * @returns the results of those that were done
 * @throws what the first has failed with, once those beside it have ended: nothing goes on behind the caller's back
 */
export async function actInTurn<Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
  { atOnce, budgetMs, now = () => performance.now() }: InTurnOptions,
): Promise<Map<Item, Result>> {
  const end = now() + budgetMs;
  const actOn = async (item: Item): Promise<[Item, Result]> => [item, await act(item)];
  return new Map(await inParallel(shuffle(items), actOn, { atOnce, goOn: () => now() < end }));
}

/** Reports what is found of each node that an action without groups looks at; so many at a time. */
export async function reportEach(
  context: Parameters<typeof readFacts>[0],
  { action, site, names }: SiteWork & { readonly names: readonly string[] },
  atOnce: number,
  report: (node: SiteNode, read: ReadNode) => Promise<NodeReport>,
): Promise<ReadonlyMap<string, NodeReport>> {
  const wanted = names.flatMap((name) => site.nodes.get(name) ?? []);
  const read = await readFacts(
    context,
    { action, site },
    wanted.map((node) => ({ node, phase: 'prepare' })),
  );
  const reportOn = async (name: string): Promise<NodeReport> => {
    const node = site.nodes.get(name);
    if (!node) return { state: 'failed', error: newRemark('not-in-documents'), findings: [] };
    return report(node, read.get(name) ?? { facts: {}, design: undefined });
  };
  return actInTurn(names, reportOn, { atOnce, budgetMs: Number.POSITIVE_INFINITY });
}

export interface InTurnOptions {
  readonly atOnce: number;
  /** Milliseconds within which things may begin; one of them always does. */
  readonly budgetMs: number;
  readonly now?: () => number;
}

/** Makes a copy in random order. */
export function shuffle<Item>(items: readonly Item[]): Item[] {
  const shuffled = [...items];
  for (let last = shuffled.length - 1; last > 0; last -= 1) {
    const other = Math.floor(Math.random() * (last + 1));
    [shuffled[last], shuffled[other]] = [shuffled[other] as Item, shuffled[last] as Item];
  }
  return shuffled;
}
