import { and, eq, isNull, notExists, notInArray, or, sql } from 'drizzle-orm';
import type { EngineContext } from '#conductor/flows/context.ts';
import { responsibleConductor } from '#conductor/kernel/conductors/node-conductor.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { flowKinds, isBesideStates } from '#conductor/model/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flow-states.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { ofGroup } from '#conductor/nodes/node-lease.ts';

/** Flows that leave the machine to its instance, for hours. */
export const leavesMachine = (Object.keys(flowKinds) as FlowKindName[]).filter((kind) =>
  isBesideStates(flowKinds[kind]),
);

/**
 * The nodes that nobody works on and whose BMC is known to answer, of those that are this conductor's: each is one
 * conductor's, so that a BMC is asked once a period, however many there are.
 */
export async function listResting(
  context: EngineContext,
): Promise<readonly { readonly uuid: string; readonly driver: string; readonly conductorGroup: string }[]> {
  const { conductorName, conductorGroup } = context.config;
  const live = await context.conductors.live();
  const resting = await context.db
    .select({ uuid: nodes.uuid, driver: nodes.driver, conductorGroup: nodes.conductorGroup })
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
