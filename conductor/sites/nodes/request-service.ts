import { and, desc, eq } from 'drizzle-orm';
import { readNode } from '#conductor/cluster/kubernetes/objects.ts';
import { withSharedCluster } from '#conductor/cluster/kubernetes/share-cluster.ts';
import { planService } from '#conductor/flows/plan-service.ts';
import type { SeenNode } from '#conductor/flows/require-unmoved.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { etcdStepDefaults } from '#conductor/model/cluster-timeouts.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { noteRegistration, readMemberships } from '#conductor/sites/nodes/membership-store.ts';
import type { NodeOrder, SiteWork } from '#conductor/sites/nodes/node-order.ts';
import { startBeside } from '#conductor/sites/nodes/request-decommission.ts';
import { joinSeconds, serviceNeeds } from '#conductor/sites/nodes/service-needs.ts';
import { siteCaller } from '#conductor/sites/nodes/site-caller.ts';
import { errorChain } from '#shared/errors/app-error.ts';

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
 * that can't be asked now holds no deploy up: then the times tell.
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
