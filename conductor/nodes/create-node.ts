import { randomUUID } from 'node:crypto';
import type { NodeDescription } from '#conductor/api/node-description.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { lookForConductor, requireKnownGroup } from '#conductor/kernel/conductors/node-conductor.ts';
import type { NodeInsert, NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { sealNode } from '#conductor/kernel/secrets/node-secrets.ts';
import { interfaceKinds } from '#conductor/model/interface-kinds.ts';
import { requireChassis } from '#conductor/nodes/chassis.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { refuseUnknownKeys } from '#conductor/nodes/driver-info-keys.ts';
import { nodeColumns, nodeNameFault } from '#conductor/nodes/node-fields.ts';
import { actedVia, addHistory } from '#conductor/nodes/node-history.ts';
import { checkInterface, keptDeployInterface, keptInterfaces } from '#conductor/nodes/node-interfaces.ts';
import { insertNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Nodes start in `enroll` since this microversion; before it they were `available` at once. */
const enrollVersion = 11;

/**
 * Enrolls a node (ironic-api.md §3.2).
 * @throws AppError `invalid_argument` naming the field, `conflict` for a duplicate.
 */
export async function createNode(
  context: Pick<NodesContext, 'db' | 'config' | 'drivers' | 'secrets' | 'conductors'>,
  description: NodeDescription & { readonly uuid?: string | undefined },
  { version, caller }: { readonly version: number; readonly caller: Caller },
): Promise<NodeRow> {
  const { config, drivers } = context;
  const driver = description.driver;
  if (driver === undefined)
    throw new AppError('invalid_argument', "Schema error for node: 'driver' is a required property");
  const known = drivers.hardwareTypes.map((type) => type.name);
  if (!known.includes(driver)) {
    throw new AppError(
      'invalid_argument',
      `No valid host was found. Reason: No conductor service registered which supports driver ${driver}; there are ${known.join(', ')}.`,
    );
  }
  checkName(description.name, version);
  refuseUnknownKeys(driver, description.driver_info ?? {});
  const wanted = { driver, conductorGroup: description.conductor_group ?? '' };
  await lookForConductor(context, wanted);
  requireKnownGroup(context, wanted);
  for (const kind of interfaceKinds) {
    const name = description[`${kind}_interface`];
    if (name) checkInterface(driver, kind, name);
  }
  // a project's nodes wait until somebody has looked at them, whatever its client says
  const state = version >= enrollVersion || caller.project !== undefined ? 'enroll' : 'available';
  const columns = Object.entries(nodeColumns)
    .map(([field, column]) => [column, description[field as keyof typeof nodeColumns]] as const)
    .filter(([, value]) => value !== undefined && value !== null);
  const row: NodeInsert = {
    ...(Object.fromEntries(columns) as Partial<NodeInsert>),
    driver,
    uuid: description.uuid?.toLowerCase() ?? randomUUID(),
    networkInterface: description.network_interface ?? config.defaultNetworkInterface,
    deployInterface: keptDeployInterface(driver, description.deploy_interface),
    interfaces: keptInterfaces(driver, description),
    provisionState: state,
  };
  return context.db.transaction(async (tx) => {
    if (row.chassisUuid) await requireChassis(tx, row.chassisUuid);
    const node = await insertNode(tx, sealNode(context.secrets, row.uuid, row));
    await addHistory(tx, {
      nodeUuid: node.uuid,
      severity: 'INFO',
      eventType: 'provisioning',
      event: actedVia(`created in ${state}`, caller),
      conductor: config.conductorName,
      user: caller.user,
      project: caller.project,
    });
    return node;
  });
}

function checkName(name: string | null | undefined, version: number): void {
  const fault = typeof name === 'string' ? nodeNameFault(name, version) : undefined;
  if (fault) throw new AppError('invalid_argument', `Cannot create node with invalid name '${name}': ${fault}.`);
}
