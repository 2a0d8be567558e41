import { and, eq, inArray, isNull } from 'drizzle-orm';
import { findAgentSession } from '#conductor/agents/agent-session-store.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent-session.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { stepTitle } from '#conductor/model/planned-step.ts';

/** During what a console is opened: it ends with it. */
export interface ConsoleOccasion {
  /** The ramdisk's boot; `undefined` when the machine has left the ramdisk. */
  readonly session: AgentSessionRow | undefined;
  /** The flow under way, and the step that it runs or waits in. */
  readonly flowUuid: string | undefined;
  readonly stepUuid: string | undefined;
  /** `deploy.write_image` */
  readonly stepName: string | undefined;
}

export async function readConsoleOccasion(db: Queryable, nodeUuid: string): Promise<ConsoleOccasion> {
  const session = await findAgentSession(db, nodeUuid);
  const [flow] = await db
    .select({ uuid: flows.uuid })
    .from(flows)
    .where(and(eq(flows.nodeUuid, nodeUuid), isNull(flows.endedAt)));
  const [step] = flow
    ? await db
        .select({
          uuid: flowSteps.uuid,
          interface: flowSteps.interface,
          step: flowSteps.step,
          plugin: flowSteps.plugin,
        })
        .from(flowSteps)
        .where(and(eq(flowSteps.flowUuid, flow.uuid), inArray(flowSteps.state, ['running', 'waiting'])))
    : [];
  return {
    session,
    flowUuid: flow?.uuid,
    stepUuid: step?.uuid,
    stepName: step && stepTitle(step),
  };
}

/**
 * Why a console that was opened at one occasion has to end at another; `undefined` while it may stay. A person at a
 * shell and a step that begins would work on the same disks without knowing of each other.
 */
export function whyOver(opened: ConsoleOccasion, now: ConsoleOccasion): string | undefined {
  if (!now.session) return 'the machine leaves the ramdisk';
  // its token may have been sealed with another key meanwhile
  if (now.session.createdAt.getTime() !== opened.session?.createdAt.getTime()) return 'the machine has rebooted';
  if (now.flowUuid !== undefined && now.flowUuid !== opened.flowUuid) return 'a flow begins';
  if (now.flowUuid !== opened.flowUuid) return 'the flow has ended';
  if (now.stepUuid === opened.stepUuid) return undefined;
  return now.stepName === undefined ? `step ${opened.stepName} has ended` : `step ${now.stepName} begins`;
}
