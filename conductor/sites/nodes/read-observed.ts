import { and, desc, eq, inArray, isNotNull, isNull, sql } from 'drizzle-orm';
import { currentFault } from '#conductor/flows/log/step-fault.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { type FlowStepRow, flowEvents, flowSteps, flows, nodeFlow } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { siteNodes } from '#conductor/kernel/db/schema/site.ts';
import { siteActionCommands, siteActionNodes } from '#conductor/kernel/db/schema/site-action.ts';
import type {
  ObservedAllocation,
  ObservedDeploy,
  ObservedFlow,
  ObservedNode,
  ObservedStep,
} from '#conductor/sites/nodes/node-decision.ts';
import { Progress } from '#shared/wire/progress.ts';

const nodeColumns = {
  uuid: nodes.uuid,
  provisionState: nodes.provisionState,
  provisionUpdatedAt: nodes.provisionUpdatedAt,
  maintenance: nodes.maintenance,
  maintenanceReason: nodes.maintenanceReason,
  fault: nodes.fault,
  instanceUuid: nodes.instanceUuid,
  owner: nodes.owner,
  lessee: nodes.lessee,
  retired: nodes.retired,
  retiredReason: nodes.retiredReason,
  lastError: nodes.lastError,
  driver: nodes.driver,
  deployInterface: nodes.deployInterface,
  owedWipe: nodes.owedWipe,
};

const flowColumns = {
  uuid: flows.uuid,
  ...nodeFlow,
  state: flows.state,
  actionId: flows.actionId,
  requestedBy: flows.requestedBy,
  error: flows.error,
  held: flows.held,
  onHold: flows.onHold,
  abortRequested: flows.abortRequested,
};
type FlowColumns = Omit<ObservedFlow, 'isOpen' | 'step'> & { readonly nodeUuid: string };

const stepColumns = {
  uuid: flowSteps.uuid,
  interface: flowSteps.interface,
  step: flowSteps.step,
  plugin: flowSteps.plugin,
  waitingFor: flowSteps.waitingFor,
  progress: flowSteps.progress,
};

/** The nodes of these names with their open flow and the step that it is at: one statement, for it is read each beat. */
export async function readObserved(
  db: Queryable,
  names: readonly string[],
): Promise<Map<string, { readonly node: ObservedNode; readonly flow?: ObservedFlow }>> {
  if (names.length === 0) return new Map();
  const rows = await db
    .select({ name: nodes.name, node: nodeColumns, flow: flowColumns, step: stepColumns })
    .from(nodes)
    .leftJoin(flows, and(eq(flows.nodeUuid, nodes.uuid), isNull(flows.endedAt)))
    .leftJoin(flowSteps, and(eq(flowSteps.flowUuid, flows.uuid), inArray(flowSteps.state, ['running', 'waiting'])))
    .where(isAmong(nodes.name, names));
  return new Map(
    rows.map(({ name, node, flow, step }) => [
      name ?? node.uuid,
      { node, ...(flow ? { flow: toObservedFlow(flow, { isOpen: true, step: step ?? undefined }) } : {}) },
    ]),
  );
}

function toObservedFlow(
  { nodeUuid: _node, ...flow }: FlowColumns,
  more: { readonly isOpen: boolean; readonly step?: StepColumns | undefined },
): ObservedFlow {
  return { ...flow, isOpen: more.isOpen, ...(more.step ? { step: observedStep(more.step) } : {}) };
}

type StepColumns = Pick<FlowStepRow, 'interface' | 'step' | 'plugin' | 'waitingFor' | 'progress'>;

function observedStep(step: StepColumns): ObservedStep {
  const progress = Progress.safeParse(step.progress).data;
  const { phase, done_bytes: bytes, total_bytes: total } = progress ?? {};
  return {
    name: `${step.interface}.${step.step}`,
    plugin: step.plugin,
    waitingFor: step.waitingFor,
    ...(phase === undefined ? {} : { phase }),
    ...(bytes === undefined || !total ? {} : { percent: Math.min(100, Math.floor((bytes / total) * 100)) }),
  };
}

/** Each node's last flow, by node; none of them has one under way. */
export async function readLastFlows(db: Queryable, nodeUuids: readonly string[]): Promise<Map<string, ObservedFlow>> {
  if (nodeUuids.length === 0) return new Map();
  const { state, waitingFor, error, fault } = flowSteps;
  const isFailure = and(eq(flowSteps.flowUuid, flows.uuid), eq(state, 'failed'), eq(flowSteps.phase, 'main'));
  const rows = await db
    .selectDistinctOn([flows.nodeUuid], { flow: flowColumns, failed: { state, waitingFor, error, fault } })
    .from(flows)
    .leftJoin(flowSteps, isFailure)
    .where(isAmong(flows.nodeUuid, nodeUuids))
    .orderBy(flows.nodeUuid, desc(flows.startedAt), flowSteps.position);
  return new Map(
    rows.map(({ flow, failed }) => {
      const code = failed && currentFault(failed)?.code;
      return [flow.nodeUuid, { ...toObservedFlow(flow, { isOpen: false }), ...(code ? { fault: code } : {}) }];
    }),
  );
}

/** Kinds of flows of the action that have succeeded, by node. */
export async function readSucceeded(
  db: Queryable,
  actionId: string,
  nodeUuids: readonly string[],
): Promise<Map<string, ReadonlySet<ObservedFlow['kind']>>> {
  if (nodeUuids.length === 0) return new Map();
  const rows = await db
    .selectDistinct(nodeFlow)
    .from(flows)
    .where(and(eq(flows.actionId, actionId), eq(flows.state, 'succeeded'), isAmong(flows.nodeUuid, nodeUuids)));
  const byNode = Map.groupBy(rows, ({ nodeUuid }) => nodeUuid);
  return new Map([...byNode].map(([uuid, of]) => [uuid, new Set(of.map(({ kind }) => kind))]));
}

/** A release follows its decommission at the next beat: what lies in between is a pause, an outage, or others' work. */
const staysOutMinutes = 10;

/**
 * Nodes that this action has decommissioned, and that somebody may have put back into their clusters since: it was long
 * ago, or a pause has ended after the drain, which is when people uncordon what they want to keep. The steps after the
 * drain go on through a pause and look at no cordon any more; but they may be slow, each time, so that what is long ago
 * counts from their end. By the database's clock alone, for one that goes wrong would have a node decommissioned for ever.
 */
export async function readPerhapsBack(
  db: Queryable,
  actionId: string,
  nodeUuids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (nodeUuids.length === 0) return new Set();
  const left = sql`max(coalesce(${flowEvents.at}, ${flows.startedAt}))`;
  const isDrained = and(eq(flowSteps.step, 'drain'), eq(flowEvents.event, 'succeeded'));
  const drained = sql`max(case when ${isDrained} then ${flowEvents.at} else ${flows.startedAt} end)`;
  const resumed = db
    .select({ at: sql`max(${siteActionCommands.at})` })
    .from(siteActionCommands)
    .where(and(eq(siteActionCommands.actionId, actionId), eq(siteActionCommands.command, 'unpause')));
  const rows = await db
    .select({ nodeUuid: nodeFlow.nodeUuid })
    .from(flows)
    .leftJoin(flowEvents, eq(flowEvents.flowUuid, flows.uuid))
    .leftJoin(flowSteps, eq(flowSteps.uuid, flowEvents.stepUuid))
    .where(
      and(
        eq(flows.actionId, actionId),
        eq(flows.kind, 'decommission'),
        eq(flows.state, 'succeeded'),
        isAmong(flows.nodeUuid, nodeUuids),
      ),
    )
    .groupBy(flows.nodeUuid)
    .having(sql`${left} < now() - make_interval(mins => ${staysOutMinutes}) or ${drained} < ${resumed}`);
  return new Set(rows.map(({ nodeUuid }) => nodeUuid));
}

/** It has it, or asks for no other. */
const wantedNode = sql<string>`coalesce(${allocations.nodeUuid}::text, ${allocations.candidateNodes} ->> 0)`;

/**
 * The site's own reservations, by the UUID of the node that each is for. Names say nothing: anybody may give an allocation
 * the name of a node that the site is going to have.
 */
export async function readReservations(
  db: Queryable,
  nodeUuids: readonly string[],
): Promise<Map<string, ObservedAllocation>> {
  if (nodeUuids.length === 0) return new Map();
  const rows = await db
    .select({
      wanted: wantedNode,
      uuid: allocations.uuid,
      state: allocations.state,
      nodeUuid: allocations.nodeUuid,
      nodeName: nodes.name,
      actionId: allocations.actionId,
      lastError: allocations.lastError,
      waitingFor: allocations.waitingFor,
    })
    .from(allocations)
    .leftJoin(nodes, eq(nodes.uuid, allocations.nodeUuid))
    .where(and(isNotNull(allocations.actionId), isAmong(wantedNode, nodeUuids)))
    // of several the newest, and before all the one that has its node
    .orderBy(sql`${allocations.nodeUuid} is not null`, allocations.id);
  return new Map(rows.map(({ wanted, ...row }) => [wanted, row]));
}

/** Reads what the site has deployed, by name. */
export async function readDeployed(db: Queryable, names: readonly string[]): Promise<Map<string, ObservedDeploy>> {
  if (names.length === 0) return new Map();
  const rows = await db
    .select({
      name: siteNodes.name,
      revisionId: siteNodes.revisionId,
      designHash: siteNodes.designHash,
      instanceUuid: siteNodes.instanceUuid,
      isAwaited: sql<boolean>`${siteNodes.inServiceAt} is null`,
    })
    .from(siteNodes)
    .where(isAmong(siteNodes.name, names));
  return new Map(rows.map(({ name, ...row }) => [name, row]));
}

/** Nodes but these that the site has deployed and that were not seen in service since, by name. */
export async function listAwaited(db: Queryable, except: readonly string[]): Promise<string[]> {
  const rows = await db
    .select({ name: siteNodes.name })
    .from(siteNodes)
    .innerJoin(nodes, and(eq(nodes.uuid, siteNodes.nodeUuid), eq(nodes.instanceUuid, siteNodes.instanceUuid)))
    .where(isNull(siteNodes.inServiceAt))
    .orderBy(siteNodes.name);
  return rows.map(({ name }) => name).filter((name) => !except.includes(name));
}

/** How long each node has been broken off, in ms by the database's clock. Who gives the order has noted since when. */
export async function readCancelled(
  db: Queryable,
  actionId: string,
  names: readonly string[],
): Promise<Map<string, number>> {
  if (names.length === 0) return new Map();
  const rows = await db
    .select({
      name: siteActionNodes.name,
      ms: sql<number>`(extract(epoch from now() - ${siteActionNodes.cancelledAt}) * 1000)::float8`,
    })
    .from(siteActionNodes)
    .where(
      and(
        eq(siteActionNodes.actionId, actionId),
        isAmong(siteActionNodes.name, names),
        isNotNull(siteActionNodes.cancelledAt),
      ),
    );
  return new Map(rows.map(({ name, ms }) => [name, ms]));
}
