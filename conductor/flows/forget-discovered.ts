import { and, eq, exists, lt, not, notExists, or, type SQL, sql } from 'drizzle-orm';
import type { EngineContext } from '#conductor/flows/context.ts';
import { removeNode } from '#conductor/flows/remove-node.ts';
import { nodeHistory, nodes } from '#conductor/kernel/db/schema/node.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/**
 * Deletes discovered machines that have not booted for BATON_DISCOVERY_FORGET_DAYS and that nobody has touched: they are
 * in `enroll`, and their history has what discovery and its rules wrote, and nothing else. One that boots again is
 * enrolled again.
 */
export async function forgetDiscovered(
  context: Pick<EngineContext, 'db' | 'clock' | 'log' | 'config' | 'stopping' | 'networks'>,
): Promise<void> {
  const { db, log } = context;
  const { forgetMs = 0 } = context.config.discovery ?? {};
  if (forgetMs === 0) return;
  const isForgotten = and(
    eq(nodes.provisionState, 'enroll'),
    eq(nodes.protected, false),
    lt(nodes.inspectionFinishedAt, new Date(context.clock.now().getTime() - forgetMs)),
    exists(
      db
        .select()
        .from(nodeHistory)
        .where(ofNode(eq(nodeHistory.eventType, 'discovery'))),
    ),
    notExists(
      db
        .select()
        .from(nodeHistory)
        .where(ofNode(not(isOfDiscovery))),
    ),
  );
  for (const { uuid } of await db.select({ uuid: nodes.uuid }).from(nodes).where(isForgotten)) {
    if (context.stopping.aborted) return;
    try {
      await removeNode(context, uuid, { user: undefined, project: undefined }, async (tx) => {
        const [still] = await tx
          .select({ uuid: nodes.uuid })
          .from(nodes)
          .where(and(eq(nodes.uuid, uuid), isForgotten));
        if (!still) throw new AppError('conflict', 'somebody has taken it up');
      });
    } catch (error) {
      log.debug({ err: error, node: uuid, outcome: errorCode(error) }, 'a discovered machine is not forgotten');
    }
  }
}

const isOfDiscovery = sql`${or(eq(nodeHistory.eventType, 'discovery'), eq(nodeHistory.eventType, 'inspection'))}`;

function ofNode(condition: SQL): SQL | undefined {
  return and(eq(nodeHistory.nodeUuid, nodes.uuid), condition);
}
