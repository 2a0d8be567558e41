import type { SitesContext } from '#conductor/sites/context.ts';
import { nameChanges } from '#conductor/sites/nodes/compare-node.ts';
import { readMemberships } from '#conductor/sites/nodes/membership-store.ts';
import { isBusy, type NodeFacts } from '#conductor/sites/nodes/node-decision.ts';
import type { NodeOrder, SiteWork } from '#conductor/sites/nodes/node-order.ts';
import { type DesignContext, type NodeDesign, readDesigns } from '#conductor/sites/nodes/read-design.ts';
import {
  readDeployed,
  readLastFlows,
  readObserved,
  readPerhapsBack,
  readReservations,
  readSucceeded,
} from '#conductor/sites/nodes/read-observed.ts';
import { needsService, serviceNeeds } from '#conductor/sites/nodes/request-cluster-flow.ts';
import { whyUndeployable } from '#conductor/sites/nodes/why-undeployable.ts';
import type { Site } from '#conductor/sites/site.ts';

export interface ReadNode {
  readonly facts: NodeFacts;
  /** Only of a node that no flow of this action works on, and that is enrolled. */
  readonly design: NodeDesign | undefined;
}

/** Nodes whose facts are read, and the documents that they are read by. */
export interface SiteFactsOf {
  readonly action: Pick<SiteWork['action'], 'id'>;
  readonly site: Pick<Site, 'settings'>;
}

/**
 * Reads what is known of all these nodes: one statement for those that are at work, which are most of them most of the
 * time, and some more for all those about which something may have to be done.
 */
export async function readFacts(
  context: DesignContext & Pick<SitesContext, 'config'>,
  { action: { id: actionId }, site }: SiteFactsOf,
  orders: readonly NodeOrder[],
): Promise<Map<string, ReadNode>> {
  const { db } = context;
  const observed = await readObserved(
    db,
    orders.map(({ node }) => node.name),
  );
  const idle = orders.filter(({ node }) => !isBusy(observed.get(node.name) ?? {}, actionId));
  const names = idle.map(({ node }) => node.name);
  const uuids = names.flatMap((name) => observed.get(name)?.node.uuid ?? []);
  const flowless = names.flatMap((name) => {
    const observedNow = observed.get(name);
    return observedNow && !observedNow.flow ? observedNow.node.uuid : [];
  });
  const tornDown = idle.flatMap(({ node, teardown }) => (teardown ? (observed.get(node.name)?.node.uuid ?? []) : []));
  const [lastFlows, succeeded, perhapsBack, allocations, deployed, memberships, designs] = await Promise.all([
    readLastFlows(db, flowless),
    readSucceeded(db, actionId, uuids),
    readPerhapsBack(db, actionId, tornDown),
    readReservations(db, uuids),
    readDeployed(db, names),
    readMemberships(db, uuids),
    readDesigns(
      context,
      idle.flatMap(({ node }) => (observed.has(node.name) ? node : [])),
    ),
  ]);
  const hasKubernetes = context.config.kubeconfigFile !== undefined;
  return new Map(
    orders.map(({ node: wanted, teardown }): [string, ReadNode] => {
      const { name } = wanted;
      const { node, flow = node && lastFlows.get(node.uuid) } = observed.get(name) ?? {};
      const allocation = node && allocations.get(node.uuid);
      const before = deployed.get(name);
      const design = designs.get(name);
      const undeployable = node ? design?.undeployable : whyUndeployable(context, wanted);
      const facts: NodeFacts = {
        ...(node ? { node } : {}),
        ...(flow ? { flow } : {}),
        ...(allocation ? { allocation } : {}),
        ...(before ? { deployed: before } : {}),
        ...(undeployable === undefined ? {} : { undeployable }),
        ...(node && design
          ? {
              rest: {
                ...(design.impossible === undefined ? {} : { impossible: design.impossible }),
                differs: nameChanges(design.changes),
                needsHardware: design.hardware.length > 0,
                rebuildsRaid: design.hardware.some((step) => step.interface === 'raid'),
                sparesDisks: (design.row.sparedDisks ?? []).length > 0,
                needsInspection: design.needsInspection,
                awaitsService: needsService(
                  serviceNeeds(wanted, site, {
                    row: design.row,
                    membership: memberships.get(node.uuid),
                    hasKubernetes: hasKubernetes || teardown?.kubernetes === true,
                  }),
                ),
                mayBeBack: perhapsBack.has(node.uuid),
                succeeded: succeeded.get(node.uuid) ?? new Set(),
              },
            }
          : {}),
      };
      return [name, { facts, design }];
    }),
  );
}
