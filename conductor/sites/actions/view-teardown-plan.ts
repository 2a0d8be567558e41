import type { TeardownNodeView } from '#conductor/api/teardown-plan.ts';
import { simulatedWipe } from '#conductor/flows/log/fakes-flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { etcdStepDefaults } from '#conductor/model/site/cluster-timeouts.ts';
import { trustedOsDisk } from '#conductor/nodes/boot/os-disk.ts';
import { latestInventory } from '#conductor/nodes/inspection/inventory-store.ts';
import { hasFakeDeploy } from '#conductor/nodes/node-interfaces.ts';
import { findNode } from '#conductor/nodes/node-store.ts';
import { type ActionPlan, describeFromSite } from '#conductor/sites/actions/create-action.ts';
import { findImpossibleOf, findObstacles } from '#conductor/sites/actions/foresee-failures.ts';
import { teardownOrder } from '#conductor/sites/actions/plan-teardown-run.ts';
import { describeSteps, describeWipe } from '#conductor/sites/actions/teardown-plan/describe-teardown.ts';
import { lookAtClusters, type NodeLook } from '#conductor/sites/actions/teardown-plan/look-at-clusters.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import { joinSeconds } from '#conductor/sites/nodes/request-cluster-flow.ts';
import { type EtcdSite, readEtcdSite } from '#conductor/sites/revisions/find-design.ts';
import { AppError } from '#shared/errors/app-error.ts';

type Context = Pick<SitesContext, 'db' | 'secrets' | 'config' | 'database' | 'networks'>;

/**
 * Views what an operator reads before a teardown, of each node in the order in which they are torn down; nothing is
 * touched.
 */
export async function viewTeardownPlan(
  context: Context,
  plan: ActionPlan,
): Promise<{ readonly nodes: TeardownNodeView[]; readonly remarks: string[] }> {
  const { name, parameters, site } = plan;
  const etcd = await readEtcdSite(context, plan);
  const teardown = teardownOrder({ ...plan, clusters: null }, etcd, context.config);
  if (!teardown) throw new AppError('internal', `${name} tears nothing down`);
  const impossible = await findImpossibleOf(context, { name, parameters, etcd });
  const obstacles = new Map([...impossible, ...(await findObstacles(context, { name, parameters, site }))]);
  const names = parameters.target_nodes ?? [];
  const looks = await lookAtClusters(context, etcd, { names, teardown });
  const nodes: TeardownNodeView[] = [];
  const failures: string[] = [];
  for (const [node, look] of looks.nodes) {
    const row = await findNode(context.db, node);
    if (row?.lastError) failures.push(`${node} is in '${row.provisionState}': ${row.lastError}`);
    nodes.push(
      await viewNode(context, { plan, etcd, teardown, node, row, look, refused: obstacles.get(node) ?? null }),
    );
  }
  const remarks = [
    ...describeFromSite(plan),
    ...[...looks.wrong, ...failures].map((text) => `in the way now: ${text}`),
    ...(teardown.kubernetes
      ? []
      : ['this conductor has no BATON_KUBECONFIG: nothing is drained, and no node leaves a cluster']),
    ...etcd.remarks,
    ...(teardown.etcd
      ? []
      : [
          `revision ${plan.revisionId} has no promenade/EtcdClusters/v1, nor has the committed one: nothing leaves etcd`,
        ]),
  ];
  return { nodes, remarks };
}

/** One of the nodes, and what is known of it. */
interface NodeWork {
  readonly plan: ActionPlan;
  readonly etcd: EtcdSite;
  readonly teardown: TeardownOrder;
  readonly node: string;
  readonly row: NodeRow | undefined;
  readonly look: NodeLook;
  readonly refused: string | null;
}

async function viewNode(
  context: Context,
  { plan, etcd, teardown, node, row, look, refused }: NodeWork,
): Promise<TeardownNodeView> {
  const { site, revisionId } = plan;
  const inventory = row && (await latestInventory(context.db, row.uuid));
  const machine = {
    disks: inventory?.disks,
    osDisk: row ? await trustedOsDisk(context.db, row) : null,
    properties: row?.properties ?? {},
  };
  const state = row?.provisionState ?? null;
  const driver = site.nodes.get(node)?.driver ?? '';
  const isFake = hasFakeDeploy(row ?? { driver, deployInterface: null });
  return {
    name: node,
    provision_state: state,
    refused,
    ...look,
    disks_seen_at: inventory?.collectedAt.toISOString() ?? null,
    disks: isFake
      ? { wiped: [], kept: [], remarks: [simulatedWipe] }
      : describeWipe(machine, teardown.preserveLocalStorage),
    steps: describeSteps({
      node,
      teardown,
      revisionId,
      etcdClusters: etcd.etcdClusters.map(({ name }) => name),
      isFake,
      answers: site.nodes.get(node)?.inService?.answers ?? [],
      serviceSeconds: { join: joinSeconds(site.settings), etcd: etcdStepDefaults.readyTimeout },
      isFree: state === null || state === 'enroll' || state === 'manageable' || state === 'available',
    }),
  };
}
