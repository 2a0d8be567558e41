import { and, eq, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type AgentStepsRow, agentSteps } from '#conductor/kernel/db/schema/agent-steps.ts';
import type { AdvertisedStep, HardwareManagerVersion, StepKind } from '#shared/wire/step.ts';

/** What the node's ramdisk offered when it was last asked; `undefined` when it never was. */
export async function findAgentSteps(
  db: Queryable,
  nodeUuid: string,
  kind: StepKind,
): Promise<AgentStepsRow | undefined> {
  const [row] = await db
    .select()
    .from(agentSteps)
    .where(and(eq(agentSteps.nodeUuid, nodeUuid), eq(agentSteps.kind, kind)));
  return row;
}

export async function saveAgentSteps(
  db: Queryable,
  offer: {
    readonly nodeUuid: string;
    readonly kind: StepKind;
    readonly steps: AdvertisedStep[];
    readonly hardwareManagerVersion: HardwareManagerVersion;
  },
): Promise<void> {
  const { steps, hardwareManagerVersion } = offer;
  await db
    .insert(agentSteps)
    .values(offer)
    .onConflictDoUpdate({
      target: [agentSteps.nodeUuid, agentSteps.kind],
      set: { steps, hardwareManagerVersion, gatheredAt: sql`now()` },
    });
}
