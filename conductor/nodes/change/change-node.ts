import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { NodeDescription } from '#conductor/api/node-description.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { lookForConductor, requireKnownGroup } from '#conductor/kernel/conductors/node-conductor.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { chassis, type NodeInsert, type NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { type JsonPatch, patchRoots } from '#conductor/kernel/json-patch.ts';
import { sealNode } from '#conductor/kernel/secrets/node-secrets.ts';
import { type InterfaceKind, interfaceKinds, nodeFaults } from '#conductor/model/node-words.ts';
import type { RequestIds } from '#conductor/model/request-ids.ts';
import { inStep } from '#conductor/nodes/change/instance-name.ts';
import { followNodeChange, forgetAllocation } from '#conductor/nodes/change/node-allocation.ts';
import { planNodePatch } from '#conductor/nodes/change/plan-node-patch.ts';
import { requireAgentSinceRestore } from '#conductor/nodes/change/restored-node.ts';
import type { NodesContext, Nudging } from '#conductor/nodes/context.ts';
import { refuseUnknownKeys, refuseWrongValues } from '#conductor/nodes/driver-info.ts';
import { nodeColumns, nodeNameFault } from '#conductor/nodes/node-fields.ts';
import { requireUnowned } from '#conductor/nodes/node-guards.ts';
import { addHistory, changeNote, describePatch, type HistoryEntry } from '#conductor/nodes/node-history.ts';
import {
  checkInterface,
  keptDeployInterface,
  keptInterfaces,
  nodeInterfaces,
  supportedInterfaces,
} from '#conductor/nodes/node-interfaces.ts';
import { changeUnlocked } from '#conductor/nodes/node-lock.ts';
import { getNode, insertNode, lockNode, updateNode } from '#conductor/nodes/node-store.ts';
import { mayBringCapacity, notifyCapacity } from '#conductor/nodes/notify-capacity.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The interfaces that the patch does not name are the driver's defaults again. @throws AppError `invalid_argument`. */
export function withDriverDefaults(patch: JsonPatch): JsonPatch {
  if (!patchRoots(patch).includes('driver')) {
    throw new AppError(
      'invalid_argument',
      "The reset_interfaces parameter can only be used when changing the node's driver.",
    );
  }
  return [...interfaceKinds.map(back), ...patch];
}

/**
 * Gives a node that gets this driver the driver's defaults, in place of interfaces that nobody chose, and of those that the
 * driver does not have.
 */
export function followDriver(
  driver: string,
  node: Pick<NodeRow, 'driver' | 'networkInterface' | 'deployInterface' | 'interfaces'>,
): JsonPatch {
  const names = nodeInterfaces(node);
  const isChosen = (kind: InterfaceKind) =>
    kind === 'network' || (kind === 'deploy' ? node.deployInterface !== null : kind in node.interfaces);
  return interfaceKinds
    .filter((kind) => !isChosen(kind) || !supportedInterfaces(driver, kind).includes(names[kind]))
    .map(back);
}

function back(kind: InterfaceKind): JsonPatch[number] {
  return { op: 'remove', path: `/${kind}_interface` };
}

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
  const documents = { driverInfo: description.driver_info ?? {}, instanceInfo: description.instance_info ?? {} };
  refuseUnknownKeys(driver, documents.driverInfo);
  refuseWrongValues(driver, documents);
  const wanted = { driver, conductorGroup: description.conductor_group ?? '' };
  await lookForConductor(context, wanted);
  requireKnownGroup(context, wanted);
  for (const kind of interfaceKinds) {
    const name = description[`${kind}_interface`];
    if (name) checkInterface(driver, kind, name);
  }
  // a project's nodes wait until somebody has looked at them, whatever its client says
  const state = version >= enrollVersion || caller.project !== undefined ? 'enroll' : 'available';
  const named = {
    ...description,
    ...inStep({ instance_name: description.instance_name ?? null, instance_info: documents.instanceInfo }),
  };
  const columns = nodeColumns
    .map(([field, column]) => [column, named[field]] as const)
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
      eventType: 'provisioning',
      ...changeNote(context, caller, `created in ${state}`),
    });
    return node;
  });
}

function checkName(name: string | null | undefined, version: number): void {
  const fault = typeof name === 'string' ? nodeNameFault(name, version) : undefined;
  if (fault) throw new AppError('invalid_argument', `Cannot create node with invalid name '${name}': ${fault}.`);
}

/**
 * Serves `PATCH /v1/nodes/{node}`, in one transaction.
 * @throws AppError `invalid_argument`, `conflict`, `node_locked`.
 */
export async function changeNode(
  context: Pick<NodesContext, 'db' | 'config' | 'drivers' | 'clock' | 'secrets' | 'conductors'>,
  nodeUuid: string,
  patch: JsonPatch,
  {
    version,
    caller,
    isUnowned = false,
  }: {
    readonly version: number;
    readonly caller: Caller;
    /** Only while it has neither owner nor lessee. */
    readonly isUnowned?: boolean;
  },
): Promise<NodeRow> {
  const note = changeNote(context, caller, describePatch(patch));
  if (patchRoots(patch).some((root) => root === 'conductor_group' || root === 'driver'))
    await context.conductors.live();
  const { node: changed } = await changeUnlocked(
    context,
    nodeUuid,
    async (tx, node) => {
      if (isUnowned) requireUnowned(node);
      const asked = planNodePatch(node, patch, {
        version,
        defaultNetworkInterface: context.config.defaultNetworkInterface,
        knownDrivers: context.drivers.hardwareTypes.map((type) => type.name),
      });
      if (asked.maintenance === false) await requireAgentSinceRestore(tx, node);
      const { change, releases } = await followNodeChange(tx, node, asked);
      const { driver = node.driver, conductorGroup = node.conductorGroup } = change;
      const isMoved = driver !== node.driver || conductorGroup !== node.conductorGroup;
      if (isMoved) requireKnownGroup(context, { driver, conductorGroup });
      if (change.chassisUuid) await requireChassis(tx, change.chassisUuid);
      if (Object.keys(change).length > 0)
        await updateNode(tx, nodeUuid, sealNode(context.secrets, nodeUuid, change, node));
      if (releases) await forgetAllocation(tx, node, { conductor: context.config.conductorName, caller });
      if (mayBringCapacity(change)) await notifyCapacity(tx, nodeUuid);
      return { node: await getNode(tx, nodeUuid), isNews: Object.keys(change).length > 0 };
    },
    ({ isNews }) => (isNews ? note : undefined),
  );
  return changed;
}

/**
 * Takes the node out of service, or puts it back, with what its history and webhooks say of it.
 * @param fault a conductor's reason, which the conductor ends: an operator's maintenance has none
 */
export async function writeMaintenance(
  tx: Transaction,
  nodeUuid: string,
  { on, reason = null, fault = null }: { on: boolean; reason?: string | null; fault?: string | null },
  note: Pick<HistoryEntry, 'event' | 'conductor' | 'user' | 'project' | keyof RequestIds>,
): Promise<void> {
  await updateNode(tx, nodeUuid, { maintenance: on, maintenanceReason: reason, fault });
  await addHistory(tx, {
    nodeUuid,
    severity: fault === null ? 'INFO' : 'ERROR',
    eventType: 'maintenance',
    ...note,
    notify: { type: 'node.maintenance', data: { maintenance: on, reason, fault } },
  });
}

/** Puts a node out of service until a person ends that; possible at any time, also while a conductor works on the node. */
export async function setMaintenance(
  context: Pick<NodesContext, 'db' | 'config'> & Nudging,
  nodeUuid: string,
  maintenance: { readonly on: true; readonly reason: string | undefined } | { readonly on: false },
  caller: Caller,
): Promise<void> {
  await context.db.transaction(async (tx) => {
    const node = await lockNode(tx, nodeUuid);
    const reason = maintenance.on ? (maintenance.reason ?? null) : null;
    if (!maintenance.on) await requireAgentSinceRestore(tx, node);
    // it stays so until its maintenance ends
    const fault = maintenance.on && node.fault === nodeFaults.restored ? node.fault : null;
    if (node.maintenance === maintenance.on && node.maintenanceReason === reason && node.fault === fault) return;
    const event = maintenance.on ? `maintenance on${reason ? `: ${reason}` : ''}` : 'maintenance off';
    const note = changeNote(context, caller, event);
    await writeMaintenance(tx, nodeUuid, { on: maintenance.on, reason, fault }, note);
    if (!maintenance.on) await notifyCapacity(tx, nodeUuid);
  });
  // a flow under way is held, or goes on
  context.nudge(nodeUuid);
}

/**
 * Keeps the chassis that a node is put into from being deleted until the transaction ends.
 * @throws AppError `invalid_argument` when it is not there: the fault is the node's description.
 */
async function requireChassis(tx: Transaction, uuid: string): Promise<void> {
  const rows = await tx.select({ uuid: chassis.uuid }).from(chassis).where(eq(chassis.uuid, uuid)).for('key share');
  if (rows.length === 0) throw new AppError('invalid_argument', `Chassis ${uuid} could not be found.`);
}
