import type { EngineContext } from '#conductor/flows/context.ts';
import type { CallsAtWork } from '#conductor/flows/load-step-context.ts';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Makes the place where the call that is under way for a node can be found. An abort is written into the flow by the
 * conductor that receives it; the conductor that holds the node reads it there when it is nudged, so that a BMC that never answers holds
 * up nobody who wants the flow to end.
 */
export function createCallsAtWork(context: Pick<EngineContext, 'db' | 'log'>, nodeUuid: string): CallsAtWork {
  const { db, log } = context;
  let current: { readonly flowUuid: string; readonly call: AbortController } | undefined;
  // what was asked for while nothing was under way holds for what begins then
  let isAsked = false;
  const look = async (): Promise<void> => {
    isAsked = true;
    const at = current;
    if (!at) return;
    isAsked = false;
    const flow = await findOpenFlow(db, nodeUuid);
    if (flow?.uuid === at.flowUuid && flow.abortRequested !== null) {
      at.call.abort(new AppError('aborted', flow.abortRequested));
    }
  };
  const lookSafely = (): void => {
    look().catch((error: unknown) => {
      log.warn(
        { node: nodeUuid, err: error },
        'whether an abort was asked for is not known; it is seen after the step',
      );
    });
  };
  return {
    look: lookSafely,
    begin: (flowUuid) => {
      const call = new AbortController();
      return {
        signal: call.signal,
        permit: () => {
          current = { flowUuid, call };
          if (isAsked) lookSafely();
        },
        end: () => {
          if (current?.call === call) current = undefined;
        },
      };
    },
  };
}
