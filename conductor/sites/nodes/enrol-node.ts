import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { insertAllocations } from '#conductor/allocations/allocation-store.ts';
import { createAllocations } from '#conductor/allocations/create-allocation.ts';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import { requireNoFlow } from '#conductor/flows/request/require-no-flow.ts';
import { requireAction } from '#conductor/flows/site-actions/action-lease.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { allocations } from '#conductor/kernel/db/schema/allocation.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { notifyWebhooksOfAllocations } from '#conductor/kernel/outbox.ts';
import { requestIdsOf } from '#conductor/model/request-ids.ts';
import { applyEvent } from '#conductor/nodes/change/apply-event.ts';
import { changeNode, createNode } from '#conductor/nodes/change/change-node.ts';
import { changeTargetRaidConfig } from '#conductor/nodes/change/request-targets.ts';
import { requireUnowned } from '#conductor/nodes/node-guards.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { changeUnlocked } from '#conductor/nodes/node-lock.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { portResource } from '#conductor/nodes/ports/port.ts';
import { changeResource, createResource } from '#conductor/nodes/resources/change-resource.ts';
import { setTraits } from '#conductor/nodes/traits.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { withLogin } from '#conductor/sites/credentials.ts';
import { describedDocuments } from '#conductor/sites/nodes/compare-node.ts';
import { type NodeWork, requestVersion, type SiteWork, siteCaller } from '#conductor/sites/nodes/node-order.ts';
import { type NodeDesign, openCredentials, whyNoLogin } from '#conductor/sites/nodes/read-design.ts';
import type { SitePort } from '#conductor/sites/site.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/**
 * Makes the node of a document, with its ports and traits; what a crash leaves out is brought in line afterwards.
 * @throws AppError `invalid_argument` for a credential or a field that can't be, `conflict` for what somebody else has.
 */
export async function enrolNode(context: SitesContext, { action, wanted }: NodeWork): Promise<void> {
  const caller = siteCaller(action);
  const credentials = await openCredentials(context, [wanted]);
  const noLogin = whyNoLogin(wanted, credentials);
  if (noLogin !== undefined) throw new AppError('invalid_argument', noLogin);
  const node = await createNode(
    context,
    {
      name: wanted.name,
      driver: wanted.driver,
      driver_info: withLogin(wanted, credentials),
      ...describedDocuments(wanted),
      resource_class: wanted.resourceClass,
      ...(wanted.conductorGroup === undefined ? {} : { conductor_group: wanted.conductorGroup }),
    },
    { version: requestVersion, caller },
  );
  for (const port of wanted.ports) await addPort(context, { action, wanted, nodeUuid: node.uuid }, port);
  if (wanted.traits.length > 0) await setTraits(context, node.uuid, wanted.traits, caller);
  if (wanted.targetRaid) await changeTargetRaidConfig(context, node.uuid, wanted.targetRaid, caller);
}

/** Everything that differs. @throws AppError `conflict` where the node's state does not allow it. */
export async function alignNode(
  context: SitesContext,
  { action, wanted, design }: NodeWork & { readonly design: NodeDesign },
): Promise<void> {
  const caller = siteCaller(action);
  const { row, changes } = design;
  const patch = [...changes.patch, ...changes.relabelling];
  if (patch.length > 0)
    await changeNode(context, row.uuid, patch, { version: requestVersion, caller, isUnowned: true });
  for (const port of changes.newPorts) await addPort(context, { action, wanted, nodeUuid: row.uuid }, port);
  for (const port of changes.portChanges) await changeResource(context, portResource, port.uuid, port.patch, caller);
  if (changes.traits) await setTraits(context, row.uuid, changes.traits, caller);
  if (changes.targetRaid) await changeTargetRaidConfig(context, row.uuid, changes.targetRaid, caller);
}

/** How the BMC is reached; possible on a node in service, too. */
export async function renewAccess(
  context: SitesContext,
  action: SiteWork['action'],
  { row, changes }: NodeDesign,
): Promise<void> {
  const patch = changes.patch.filter(({ path }) => path.startsWith('/driver_info/'));
  await changeNode(context, row.uuid, patch, { version: requestVersion, caller: siteCaller(action), isUnowned: true });
}

/** One that another conductor has added meanwhile will do. */
async function addPort(
  context: SitesContext,
  { action, wanted, nodeUuid }: NodeWork & { readonly nodeUuid: string },
  port: SitePort,
): Promise<void> {
  try {
    await createResource(
      context,
      portResource,
      { nodeUuid },
      {
        address: port.address,
        pxe_enabled: port.pxeEnabled,
        ...(port.localLinkConnection ? { local_link_connection: port.localLinkConnection } : {}),
        ...(port.physicalNetwork === undefined ? {} : { physical_network: port.physicalNetwork }),
      },
      siteCaller(action),
    );
  } catch (error) {
    if (errorCode(error) !== 'conflict') throw error;
    const [row] = await context.db.select().from(ports).where(eq(ports.address, port.address));
    if (row?.nodeUuid === nodeUuid) return;
    throw new AppError('invalid_argument', `add port ${port.address} to ${wanted.name}`, { cause: error });
  }
}

/** Seconds that a reservation waits for what holds the node for moments; then it says what stands against it. */
const reservationWait = 60;

/**
 * Reserves a node for the site, under the node's name where that is free: anyone who has taken the name before does not keep
 * the site from its own nodes.
 * @throws AppError as `POST /v1/allocations` would
 */
export async function reserveNode(
  context: SitesContext,
  { action, wanted, nodeUuid }: NodeWork & { readonly nodeUuid: string },
): Promise<void> {
  const reservation = {
    resource_class: wanted.resourceClass,
    traits: [...wanted.traits],
    candidate_nodes: [nodeUuid],
    extra: { site_action: action.id },
    wait: reservationWait,
  };
  const options = { caller: siteCaller(action), version: requestVersion, actionId: action.id };
  try {
    await createAllocations(context, { ...reservation, name: wanted.name }, options);
  } catch (error) {
    if (errorCode(error) !== 'conflict') throw error;
    const [holder] = await context.db.select().from(allocations).where(eq(allocations.name, wanted.name));
    // another conductor has been faster
    if (holder && holder.actionId !== null && holder.candidateNodes[0] === nodeUuid) return;
    if (!holder) throw error;
    await createAllocations(context, reservation, options);
  }
}

/**
 * Has a node that this action has wiped become `available` without another cleaning; with `reserves` as the site's, in
 * the same transaction, so that no allocation that waits for any node can have it in between.
 * @throws AppError `conflict` when it is somebody's, in maintenance, retired or at work, `invalid_argument` when it is not
 * `manageable` any more, `lease_lost`, `node_locked`
 */
export async function makeAvailable(
  context: SitesContext,
  work: NodeWork & {
    readonly nodeUuid: string;
    readonly reserves: boolean;
    /** Else it belongs to a phase, which a pause lets end. */
    readonly isTeardown: boolean;
  },
): Promise<void> {
  const { action, wanted, nodeUuid, reserves, isTeardown } = work;
  const { id: actionId, token } = action;
  const { role: _, ...caller } = siteCaller(action);
  const options = { conductor: context.config.conductorName, ...caller };
  await changeUnlocked(context, nodeUuid, async (tx, node) => {
    if (token !== undefined) await requireAction(tx, { actionId, token, isTeardown });
    requireUnowned(node);
    requireNoFlow(node, await findOpenFlow(tx, nodeUuid), 'provide');
    if (node.owedWipe) throw new AppError('conflict', `node ${nodeUuid} owes a wipe`);
    if (node.maintenance || node.retired) {
      throw new AppError('conflict', `node ${nodeUuid} is ${node.maintenance ? 'in maintenance' : 'retired'}`);
    }
    const cleaning = await applyEvent(tx, node, 'provide', { ...options, target: 'available', lastError: null });
    if (reserves && node.instanceUuid === null)
      await reserve(tx, node, { action, wanted, conductor: options.conductor });
    await applyEvent(tx, cleaning, 'done', { ...options, target: null });
  });
}

async function reserve(
  tx: Transaction,
  node: NodeRow,
  { action, wanted, conductor }: NodeWork & { readonly conductor: string },
): Promise<void> {
  const uuid = randomUUID();
  // anyone who has taken the name before does not keep the site from its own nodes
  const holders = await tx
    .select({ uuid: allocations.uuid })
    .from(allocations)
    .where(eq(allocations.name, wanted.name));
  const name = holders.length === 0 ? wanted.name : null;
  const traits = [...wanted.traits];
  await insertAllocations(tx, [
    {
      uuid,
      name,
      state: 'active',
      nodeUuid: node.uuid,
      resourceClass: wanted.resourceClass,
      traits,
      candidateNodes: [node.uuid],
      extra: { site_action: action.id },
      conductor,
      actionId: action.id,
    },
  ]);
  const instanceInfo = { ...node.instanceInfo, traits };
  await updateNode(tx, node.uuid, { allocationUuid: uuid, instanceUuid: uuid, instanceInfo });
  const { user, project, ...ids } = siteCaller(action);
  await addHistory(tx, {
    nodeUuid: node.uuid,
    severity: 'INFO',
    eventType: 'allocation',
    event: `given to allocation ${name ?? uuid}`,
    conductor,
    user,
    project,
    ...requestIdsOf(ids),
  });
  await notifyWebhooksOfAllocations(tx, [uuid]);
}
