import { recordBootEvent, type SeenMachine } from '#conductor/nodes/boot/boot-event-store.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { addStrangersHistory } from '#conductor/nodes/node-history.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

const longest = 500;

/**
 * Tells people that a machine was refused, which the machine alone would know: among the milestones of its boot, in the
 * node's history and in the log, once for each boot and reason. It must not hinder the answer: a fault is logged.
 * @param request `heartbeat`, `lookup`
 * @param error refusal in words of our own, never the machine's, which anybody may have sent; `details.advice` says to
 * operators what to do
 */
export async function noteRefusal(
  { db, log, config }: Pick<NodesContext, 'db' | 'log' | 'config'>,
  machine: SeenMachine,
  request: string,
  error: unknown,
): Promise<void> {
  // a fault of our own is logged where it is answered, and passes
  if (!(error instanceof AppError) || error.retryable) return;
  const advice = typeof error.details['advice'] === 'string' ? ` ${error.details['advice']}` : '';
  const detail = `${request}: ${errorChain(error)}${advice}`.slice(0, longest);
  const conductor = config.conductorName;
  try {
    const nodeUuid = await recordBootEvent(db, machine, { event: 'refused', detail, conductor });
    if (nodeUuid === undefined) return;
    log.warn({ node: nodeUuid, refused: detail }, 'a machine was refused');
    await addStrangersHistory(db, { nodeUuid, eventType: 'agent', event: `refused ${detail}`, conductor });
  } catch (err) {
    log.warn({ err, ...machine, refused: detail }, 'the refusal of a machine was not kept');
  }
}
