import { isDeepStrictEqual } from 'node:util';
import { and, eq, ne, sql } from 'drizzle-orm';
import { requestProvision } from '#conductor/flows/request/request-provision.ts';
import type { SeenNode } from '#conductor/flows/request/require-no-flow.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { siteNodes } from '#conductor/kernel/db/schema/site.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { RequestedStep } from '#conductor/model/flows/planned-step.ts';
import type { Vif } from '#conductor/networks/vifs/place-vifs.ts';
import { changeNode } from '#conductor/nodes/change/change-node.ts';
import { attachNetwork, detachNetwork } from '#conductor/nodes/ports/attach-vif.ts';
import { listNodePorts } from '#conductor/nodes/ports/port-store.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { type NodeWork, requestVersion, siteCaller } from '#conductor/sites/nodes/node-order.ts';
import type { NodeDesign } from '#conductor/sites/nodes/read-design.ts';
import { noteBeforeDeploy } from '#conductor/sites/nodes/request-cluster-flow.ts';
import { instanceInfoOf, wantedVifs } from '#conductor/sites/nodes/why-undeployable.ts';

/**
 * Image, networks and config drive from the documents, then the deploy, with the plugins' tasks for the node's roles.
 * What is there already is not written again.
 * @throws AppError `invalid_argument` for what can't be deployed so, `conflict`, `node_locked`, `unavailable`.
 */
export async function deployNode(
  context: SitesContext,
  work: NodeWork & {
    readonly design: NodeDesign;
    /** The plugins' tasks for its roles. */
    readonly steps: readonly RequestedStep[];
    readonly seen?: SeenNode;
  },
): Promise<void> {
  const { action, wanted, design, steps, seen } = work;
  const caller = siteCaller(action);
  const before = openNodeDocument(context.secrets, design.row, 'instanceInfo');
  const instanceInfo = instanceInfoOf(wanted);
  const patch = [{ op: 'add' as const, path: '/instance_info', value: instanceInfo }];
  const node = isDeepStrictEqual(instanceInfo, before)
    ? design.row
    : await changeNode(context, design.row.uuid, patch, { version: requestVersion, caller, isUnowned: true });
  await attachNetworks(context, { action, wanted, node, attached: design.vifs });
  await noteBeforeDeploy(context, node);
  await requestProvision(context, node, {
    verb: 'active',
    isUnowned: true,
    // without one the system would not know its name: of an empty dict it has uuid, name and host name
    configDrive: wanted.configDrive ?? {},
    steps,
    caller,
    actionId: action.id,
    actionToken: action.token,
    seen,
  });
}

/** One network for all ports of the node, or one for each port. */
async function attachNetworks(
  context: SitesContext,
  { node, attached, ...work }: NodeWork & { readonly node: NodeRow; readonly attached: readonly Vif[] },
): Promise<void> {
  if (node.networkInterface === 'noop') return;
  const caller = siteCaller(work.action);
  const wanted = wantedVifs(work.wanted.ports, await listNodePorts(context.db, node.uuid));
  const isIn = (vifs: readonly Vif[], vif: Vif): boolean => vifs.some((each) => isDeepStrictEqual(each, vif));
  for (const { id } of attached.filter((vif) => !isIn(wanted, vif))) {
    await detachNetwork(context, node, id, caller);
  }
  for (const vif of wanted.filter((each) => !isIn(attached, each))) await attachNetwork(context, node, vif, caller);
}

interface EndedDeploy {
  readonly name: string;
  readonly nodeUuid: string;
  readonly instanceUuid: string | null;
  readonly revisionId: number;
  readonly designHash: string;
  readonly actionId: string;
  /** Nobody has to wait for anything more. */
  readonly isInService: boolean;
}

/** Remembers what the site has made of a node. Safe to repeat; a node that has got another name has one row. */
export async function recordDeploy(db: Queryable, deploy: EndedDeploy): Promise<void> {
  const { isInService, ...rest } = deploy;
  const { nodeUuid, name } = rest;
  const row = { ...rest, inServiceAt: isInService ? sql`now()` : null };
  await db.transaction(async (tx) => {
    await tx.delete(siteNodes).where(and(eq(siteNodes.nodeUuid, nodeUuid), ne(siteNodes.name, name)));
    await tx
      .insert(siteNodes)
      .values(row)
      .onConflictDoUpdate({
        target: siteNodes.name,
        set: { ...row, deployedAt: sql`now()` },
      });
  });
}

/** Finds the revision of the documents that an action works from; absent once the action is forgotten. */
export async function findRevision(db: Queryable, actionId: string): Promise<number | undefined> {
  const [row] = await db
    .select({ revisionId: siteActions.revisionId })
    .from(siteActions)
    .where(eq(siteActions.id, actionId));
  return row?.revisionId;
}
