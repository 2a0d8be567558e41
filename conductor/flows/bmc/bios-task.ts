import { z } from 'zod';
import { addToOutput } from '#conductor/flows/log/flow-store.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';

/**
 * The BMC's task of changed BIOS settings, kept with the step: a BMC may show the new values before its task has ended
 * (https://github.com/dsx-ai-factory/libredfish/pull/25), and the step ends by the task's own word.
 */
const Noted = z.looseObject({ task: z.string().nullish() });

/** Reads the path of the task; `undefined` = none is known. */
export function notedTask({ step }: Pick<StepContext, 'step'>): string | undefined {
  return Noted.safeParse(step.output).data?.task ?? undefined;
}

/** Notes the task of the last request, or that it has none. */
export async function noteTask(
  context: Pick<StepContext, 'record'>,
  step: Pick<FlowStepRow, 'uuid' | 'output'>,
  task: string | undefined,
): Promise<void> {
  if (task === undefined && notedTask({ step: step as FlowStepRow }) === undefined) return;
  await context.record((tx) => addToOutput(tx, step.uuid, { task: task ?? null }));
}

/** `over` = it has ended well, or there is none; `open` says in `unanswered` why the BMC could not be asked. */
export type TaskEnd =
  | { readonly state: 'over' }
  /** The BMC has forgotten it: it is over, but nothing tells how it ended. */
  | { readonly state: 'lost' }
  | { readonly state: 'open'; readonly isPending: boolean; readonly unanswered: string | undefined }
  | { readonly state: 'failed'; readonly why: string };

/** Looks at the task. Whatever fails on the way is no answer now, and no end. */
export async function lookAtNotedTask(context: StepContext, task: string | undefined): Promise<TaskEnd> {
  const { bios } = context.bmc();
  if (task === undefined || !bios) return { state: 'over' };
  try {
    const look = await bios.getTaskProgress(task, { signal: context.signal });
    if (look.state === 'failed') return look;
    if (look.state === 'done') return { state: 'over' };
    if (look.state === 'lost') return { state: 'lost' };
    return { state: 'open', isPending: look.state === 'pending', unanswered: undefined };
  } catch (error) {
    const isOwn = error instanceof AppError && !['lease_lost', 'database_error'].includes(errorCode(error));
    if (context.signal.aborted || !isOwn) throw error;
    return { state: 'open', isPending: false, unanswered: errorChain(error) };
  }
}

/** Describes an open task, for operators. */
export function describeOpen(about: string, { unanswered }: { readonly unanswered: string | undefined }): string {
  return `the BMC to end its task of ${about}${unanswered === undefined ? '' : `, which does not answer now: ${unanswered}`}`;
}
