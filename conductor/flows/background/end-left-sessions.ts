import type { EngineContext } from '#conductor/flows/context.ts';
import { forgetLeftSession, listLeftSessions } from '#conductor/nodes/bmc-session-store.ts';
import { inParallel } from '#shared/in-parallel.ts';

const atOnce = 8;

/**
 * Ends the sessions that conductors which were killed, or could not reach a BMC when they stopped, have left: a BMC has room
 * for few. One whose BMC is not reached stays on record; one that the BMC does not let us end has been logged.
 */
export async function endLeftSessions(
  {
    db,
    config,
    drivers,
  }: Pick<EngineContext, 'db' | 'drivers'> & {
    readonly config: Pick<EngineContext['config'], 'conductorName' | 'conductorTimeoutMs'>;
  },
  signal: AbortSignal,
): Promise<void> {
  const left = await listLeftSessions(db, config);
  const end = async (session: (typeof left)[number]): Promise<void> => {
    if ((await drivers.endLeft(session, signal)) !== 'unreached') await forgetLeftSession(db, session);
  };
  await inParallel(left, end, { atOnce, goOn: () => !signal.aborted });
}
