import { createHash } from 'node:crypto';
import { storableJson } from '#conductor/kernel/db/query/statement.ts';
import type { FlowStepRow, StoredFault } from '#conductor/kernel/db/schema/flow.ts';
import type { Fault } from '#shared/errors/fault-codes.ts';

type Words = Pick<FlowStepRow, 'state' | 'waitingFor' | 'error'>;

/** Joins a fault with what the step then is. Pure. */
export function storedFault(fault: Fault, step: Words): StoredFault {
  return storableJson({ ...fault, of: markOf(step) });
}

/** Reads the fault of a step, if it is of what the step is now; `null` = none is recorded for that. Pure. */
export function currentFault(step: Words & { readonly fault: StoredFault | null }): Fault | null {
  if (step.fault === null) return null;
  const { of, ...fault } = step.fault;
  return of === undefined || of === markOf(step) ? fault : null;
}

function markOf({ state, waitingFor, error }: Words): string {
  const words = storableJson((state === 'failed' ? error : waitingFor) ?? '');
  return `${state} ${createHash('sha256').update(words).digest('hex').slice(0, 16)}`;
}
