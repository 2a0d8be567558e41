import { and, eq, inArray } from 'drizzle-orm';
import { getAgentSession } from '#conductor/agents/agent-session-store.ts';
import type { AgentsContext } from '#conductor/agents/context.ts';
import { checkToken } from '#conductor/agents/record-heartbeat.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { ProgressReport } from '#shared/wire/progress.ts';

/**
 * `POST /v1/progress/{node}` (Baton's own): shown to the operator, nothing is decided from it.
 * @throws AppError `not_found`, `invalid_argument`.
 */
export async function recordProgress(
  context: Pick<AgentsContext, 'db' | 'secrets'>,
  ident: string,
  report: ProgressReport,
): Promise<void> {
  const { nodeUuid, session } = await getAgentSession(context.db, ident);
  checkToken(context.secrets, session, report.agent_token);
  if (!isUuid(report.command_id)) throw new AppError('invalid_argument', 'command_id must be a UUID.');
  const flowsOfNode = context.db.select({ uuid: flows.uuid }).from(flows).where(eq(flows.nodeUuid, nodeUuid));
  await context.db
    .update(flowSteps)
    .set({ progress: report.progress })
    .where(
      and(
        eq(flowSteps.uuid, report.command_id),
        inArray(flowSteps.state, ['running', 'waiting']),
        inArray(flowSteps.flowUuid, flowsOfNode),
      ),
    );
}
