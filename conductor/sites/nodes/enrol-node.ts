import { eq } from 'drizzle-orm';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { changeNode } from '#conductor/nodes/change-node.ts';
import { changeTargetRaidConfig } from '#conductor/nodes/change-raid-config.ts';
import { createNode } from '#conductor/nodes/create-node.ts';
import { portResource } from '#conductor/nodes/ports/port.ts';
import { changeResource, createResource } from '#conductor/nodes/resources/change-resource.ts';
import { setTraits } from '#conductor/nodes/traits/change-traits.ts';
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
