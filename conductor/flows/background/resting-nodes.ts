import { and, eq, isNull, notExists, notInArray, or, sql } from 'drizzle-orm';
import type { EngineContext } from '#conductor/flows/context.ts';
import { responsibleConductor } from '#conductor/kernel/conductors/node-conductor.ts';
import { together } from '#conductor/kernel/db/query/batches.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { type NodeRow, nodes } from '#conductor/kernel/db/schema/node.ts';
import { flowKinds, isBesideStates } from '#conductor/model/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flow-states.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { ofGroup } from '#conductor/nodes/node-lease.ts';
import { inParallel, type ParallelOptions } from '#shared/in-parallel.ts';

/** Flows that leave the machine to its instance, for hours. */
export const leavesMachine = (Object.keys(flowKinds) as FlowKindName[]).filter((kind) =>
  isBesideStates(flowKinds[kind]),
);

/** BMCs that did not answer last time and are asked at the same time: each costs a connection for its whole time-out. */
const silentAtOnce = 64;

type RestingNode = Pick<NodeRow, 'uuid' | 'driver' | 'conductorGroup' | 'powerFailures'>;

/**
 * Acts on each resting node that is this conductor's. Nodes whose power state could not be read last time are apart
 * from the others: a rack without power must not hold up the round for those that answer.
 */
export async function forEachResting(
  context: EngineContext,
  act: (node: Pick<NodeRow, 'uuid'>) => Promise<unknown>,
  options: ParallelOptions,
): Promise<void> {
  const { silent = [], answering = [] } = Object.groupBy(await listResting(context), ({ powerFailures }) =>
    powerFailures > 0 ? 'silent' : 'answering',
  );
  await together([inParallel(answering, act, options), inParallel(silent, act, { ...options, atOnce: silentAtOnce })]);
}

/**
 * The nodes that nobody works on and whose BMC is known to answer, of those that are this conductor's: each is one
 * conductor's, so that a BMC is asked once a period, however many there are.
 */
async function listResting(context: EngineContext): Promise<readonly RestingNode[]> {
  const { conductorName, conductorGroup } = context.config;
  const live = await context.conductors.live();
  const resting = await context.db
    .select({
      uuid: nodes.uuid,
      driver: nodes.driver,
      conductorGroup: nodes.conductorGroup,
      powerFailures: nodes.powerFailures,
    })
    .from(nodes)
    .where(
      and(
        ofGroup(conductorGroup),
        sql`${nodes.provisionState} not in ('enroll', 'verifying')`,
        isNull(nodes.targetPowerState),
        or(
          // its flow is a dump's, and nobody runs it
          eq(nodes.fault, nodeFaults.restored),
          notExists(
            context.db
              .select({ one: sql`1` })
              .from(flows)
              .where(
                and(
                  sql`${flows.nodeUuid} = ${nodes.uuid}`,
                  isNull(flows.endedAt),
                  notInArray(flows.kind, leavesMachine),
                ),
              ),
          ),
        ),
      ),
    );
  return resting.filter((node) => responsibleConductor(live, node) === conductorName);
}
