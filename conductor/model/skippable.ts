import type { FlowStepOrigin, FlowStepPhase, FlowStepState } from '#conductor/model/flow-log.ts';

export interface SkipFacts {
  readonly phase: FlowStepPhase | (string & {});
  readonly origin: FlowStepOrigin | (string & {});
  readonly step: string;
  readonly state: FlowStepState | (string & {});
  readonly inBand: boolean;
  /** It met a fault, and is run again. */
  readonly runAgain: boolean;
}

/** What somebody has asked for beyond what the flow needs. */
const asked: ReadonlySet<string> = new Set(['request', 'template', 'plugin'] satisfies FlowStepOrigin[]);

/**
 * Why a step of a flow may not be left out; `undefined` = it may. Without the conductor's, the drivers' and the agent's own
 * a node would come out as something else than its flow says, half-deployed or not erased. Pure.
 */
export function whyNotSkipped({ phase, origin, step, state, inBand, runAgain }: SkipFacts): string | undefined {
  if (phase !== 'main' || !asked.has(origin) || step === 'write_image')
    return 'only what a request, a template or a plugin asks for beyond the flow itself may be skipped';
  if (state === 'pending') return undefined;
  if (state !== 'running' && state !== 'waiting') return `it has ended: ${state}`;
  if (runAgain && !inBand) return undefined;
  return inBand ? 'the agent may be at work on it; abort the flow' : 'it is under way; abort the flow';
}
