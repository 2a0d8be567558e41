import { z } from 'zod';
import type { RaidController } from '#conductor/drivers/interfaces.ts';
import { saysItIsOver } from '#conductor/flows/bmc/hold-power.ts';
import { addToOutput } from '#conductor/flows/log/flow-store.ts';
import type { ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';

/** Asks storage controllers for several changes, and judges what they refuse. */

export const pollMs = 5_000;

/**
 * Kept with the step: changes that were refused while another waited for the reset. Many controllers take one change for
 * each reset: the next ones are asked for after it.
 */
const Noted = z.looseObject({ next_changes: z.array(z.string()) });
/** Controllers whose volumes are deleted, kept likewise: those that list drives, and those that list none. */
const NotedControllers = z.looseObject({
  deleted_at: z.array(z.string()).default([]),
  deleted_at_driveless: z.array(z.string()).default([]),
});

/** Ids of controllers whose volumes are deleted: those with drives, by which each is known to be shown, and the others. */
interface DeletedAt {
  readonly ids: readonly string[];
  readonly driveless: readonly string[];
}

interface Asking<Change> {
  /** Answers whether the change was seen to end. */
  readonly ask: (change: Change) => Promise<boolean>;
  readonly title: (change: Change) => string;
}

/**
 * Answers the refusals of what may have been asked for before: by a conductor that died, or whose answer was lost. An
 * answer of which it isn't known whether it was taken is asked about once more. A refusal says nothing of an earlier change
 * that the BMC may be at still: it is asked about once more, too, unless that one waits for the reset.
 */
export async function askForAll<Change extends { readonly controller: RaidController }>(
  context: StepContext,
  changes: readonly Change[],
  { ask, title }: Asking<Change>,
): Promise<ConductorStepOutcome | readonly string[]> {
  const refusals: string[] = [];
  const waiting = new Set<string>();
  const next: Change[] = [];
  let haveEnded = true;
  for (const each of changes) {
    const { controller } = each;
    try {
      const hasEnded = await ask(each);
      haveEnded &&= hasEnded;
      if (!hasEnded && !controller.applyTimes.includes('Immediate')) waiting.add(controller.id);
    } catch (error) {
      if (context.signal.aborted || errorCode(error) !== 'bmc_error') throw error;
      const isOver = saysItIsOver(error, context.step);
      if (isOver && waiting.has(controller.id)) {
        context.log.info({ err: error }, 'change of a RAID volume refused; it is asked for after the reset');
        next.push(each);
        continue;
      }
      if (!(isOver && haveEnded) && !context.isRepeated)
        return again(context, 'the BMC to show what came of the change', [errorChain(error)]);
      if (!isOver || !context.isRepeated) throw error;
      context.log.warn({ err: error }, 'change of a RAID volume refused; it may have been asked for before');
      refusals.push(errorChain(error));
    }
  }
  const noted: z.input<typeof Noted> = { next_changes: next.map(title) };
  if (next.length > 0 || nextOnes(context).length > 0)
    await context.record((tx) => addToOutput(tx, context.step.uuid, noted));
  return refusals;
}

/** Whether all that is left to do after a reset was refused before it: what was taken then is done. */
export function areNextOnes(context: StepContext, titles: readonly string[]): boolean {
  const next = nextOnes(context);
  return titles.length > 0 && titles.every((title) => next.includes(title));
}

function nextOnes({ step }: StepContext): readonly string[] {
  return Noted.safeParse(step.output).data?.next_changes ?? [];
}

/** Adds controllers that have volumes to delete to those that are kept, and answers all of them. */
export async function noteControllers(
  context: StepContext,
  controllers: readonly RaidController[],
): Promise<DeletedAt> {
  const before = deletedAt(context);
  const idsOf = (some: readonly RaidController[]): readonly string[] => some.map(({ id }) => id);
  const ids = [...new Set([...before.ids, ...idsOf(controllers.filter(({ drives }) => drives.length > 0))])];
  const driveless = [...new Set([...before.driveless, ...idsOf(controllers)])].filter((id) => !ids.includes(id));
  const noted: z.input<typeof NotedControllers> = { deleted_at: ids, deleted_at_driveless: driveless };
  if (ids.length + driveless.length > 0) await context.record((tx) => addToOutput(tx, context.step.uuid, noted));
  return { ids, driveless };
}

export function deletedAt({ step }: Pick<StepContext, 'step'>): DeletedAt {
  const noted = NotedControllers.safeParse(step.output).data;
  return { ids: noted?.deleted_at ?? [], driveless: noted?.deleted_at_driveless ?? [] };
}

/** Whether every controller with drives is shown, and at least one at all: a controller that starts shows nothing. */
export function areShown(controllers: readonly RaidController[], { ids }: DeletedAt): boolean {
  return controllers.length > 0 && ids.every((id) => controllers.some((each) => each.id === id));
}

export function again(context: StepContext, about: string, faults: readonly string[] = []): ConductorStepOutcome {
  const reason = [about, ...faults].join(': ');
  return { kind: 'again', reason, code: 'bmc_task', timeoutMs: context.config.callbackTimeoutMs, checkEveryMs: pollMs };
}
