import { and, eq, isNull, notExists, notInArray, or, sql } from 'drizzle-orm';
import type { EngineContext } from '#conductor/flows/context.ts';
import { responsibleConductor } from '#conductor/kernel/conductors/node-conductor.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { type NodeRow, nodes } from '#conductor/kernel/db/schema/node.ts';
import { flowKinds, isBesideStates } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { ofGroup } from '#conductor/nodes/node-lease.ts';
import { inParallel, type ParallelOptions } from '#shared/in-parallel.ts';

/** Flows that leave the machine to its instance, for hours. */
export const leavesMachine = (Object.keys(flowKinds) as FlowKindName[]).filter((kind) =>
  isBesideStates(flowKinds[kind]),
);

/** BMCs that do not answer, or not yet, and are waited for at the same time: each costs a connection for its whole time-out. */
const silentAtOnce = 256;

export interface RestingOptions extends ParallelOptions {
  /** Milliseconds after which one that has not ended makes room for the next. */
  readonly patienceMs: number;
  /** Default: all of them, in one round. */
  readonly only?: RestingPart | undefined;
}

/** Nodes whose power state could be read last time, and those whose could not. */
export type RestingPart = 'answering' | 'silent';

type RestingNode = Pick<NodeRow, 'uuid' | 'driver' | 'conductorGroup' | 'powerFailures'>;

/**
 * Acts on each resting node that is this conductor's. Nodes whose power state could not be read last time are apart
 * from the others, and one that takes long makes room for the next: a rack without power must not hold up the round for
 * those that answer, not in the round that finds it so either. An error of one that took so long is the caller's to note.
 */
export async function forEachResting(
  context: EngineContext,
  act: (node: Pick<NodeRow, 'uuid'>) => Promise<unknown>,
  { patienceMs, only, ...options }: RestingOptions,
): Promise<void> {
  const partOf = ({ powerFailures }: RestingNode): RestingPart => (powerFailures > 0 ? 'silent' : 'answering');
  const resting = (await listResting(context)).filter((node) => only === undefined || partOf(node) === only);
  const { silent = [], answering = [] } = Object.groupBy(resting, partOf);
  const late = new Set<Promise<unknown>>();
  const actPatiently = async (node: RestingNode): Promise<void> => {
    const acting = act(node);
    const ended = new AbortController();
    const waited = context.clock.sleep(patienceMs, ended.signal).catch(() => undefined);
    await Promise.race([acting, waited]).finally(() => ended.abort());
    if (late.size >= silentAtOnce) await acting;
    else {
      late.add(acting);
      const forget = (): boolean => late.delete(acting);
      void acting.then(forget, forget);
    }
  };
  try {
    await allTogether([
      inParallel(answering, actPatiently, options),
      inParallel(silent, act, { ...options, atOnce: silentAtOnce }),
    ]);
  } finally {
    await Promise.allSettled(late);
  }
}

/**
 * Lists the nodes that nobody works on and whose BMC is known to answer, of those that are this conductor's: each is one
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
