import { z } from 'zod';
import { noteOutput, stepsOf } from '#conductor/flows/log/flow-store.ts';
import { type StepContext, stepArgs } from '#conductor/flows/step-context.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { isEnded } from '#conductor/model/flows/flow-states.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';
import { awaitsReset } from '#conductor/model/flows/step-note.ts';
import { inBandPrefix } from '#shared/bios/bios-setting.ts';

/**
 * One reset serves steps of several kinds: a BIOS step has the BMC take its settings, and leaves the reset to a later step
 * that needs one, too. That step sees to it that they hold before it ends. Where it can't do its work before they hold, they
 * get their reset first.
 */

/** Kept with the BIOS step. */
const Note = z.object({
  /** `raid.create_configuration`, as operators read it. */
  left_to: z.string(),
  /** `left` = the reset is to come; `held` = the BMC has shown the settings; else as in `apply-settings.ts`. */
  asked: z.enum(['left', 'along', 'lost', 'alone', 'held']),
  /** UUID of the step that waits for them. */
  first_of: z.string().optional(),
  /** Path of the BMC's task of them. */
  task: z.string().nullish(),
});
type Note = z.infer<typeof Note>;

export interface LeftStep {
  readonly row: FlowStepRow;
  readonly note: Note;
}

/** Steps that set something from the next boot on, or at once: they may stand between. */
const quiet: ReadonlySet<string> = new Set([
  'boot_mode',
  'secure_boot',
  'clear_secure_boot_keys',
  'reset_secure_boot_keys_to_default',
  'set_bmc_clock',
  'get_sensors',
]);

export function isQuiet(step: Pick<FlowStepRow, 'interface' | 'step'>): boolean {
  return step.interface === 'management' && quiet.has(step.step);
}

const Settings = z.looseObject({ settings: z.array(z.looseObject({ name: z.string().optional() })) });
const Components = z.looseObject({ settings: z.array(z.looseObject({ component: z.string() })) });

function isBios(context: StepContext, step: FlowStepRow): boolean {
  if (step.interface !== 'bios' || step.step !== 'apply_configuration') return false;
  const wanted = Settings.safeParse(stepArgs({ ...context, step })).data?.settings ?? [];
  return wanted.every(({ name }) => !name?.startsWith(inBandPrefix));
}

/**
 * Checks whether a later step resets the machine, too, so that settings may wait for it. New firmware of the BIOS, or of the
 * BMC, may forget them, so that they wait only for firmware of network cards: an item of the BMC's inventory does not report
 * its kind.
 */
function resetsToo(context: StepContext, step: FlowStepRow): boolean {
  if (step.interface === 'raid') return true;
  if (step.interface !== 'firmware') return false;
  const updates = Components.safeParse(stepArgs({ ...context, step })).data?.settings;
  return updates?.every(({ component }) => component.startsWith('nic:')) ?? false;
}

/**
 * Returns the name of the step to which this BIOS step may leave its reset; `undefined` = it resets the machine itself, as
 * where only BIOS steps follow, whose settings go along.
 */
export async function laterReset(context: StepContext): Promise<string | undefined> {
  if (context.flow.abortRequested !== null) return undefined;
  const steps = await stepsOf(context);
  let isBehindOthers = false;
  for (const step of steps.slice(steps.findIndex(({ uuid }) => uuid === context.step.uuid) + 1)) {
    if (step.inBand || step.state !== 'pending') return undefined;
    const bios = isBios(context, step);
    if (resetsToo(context, step) || (bios && isBehindOthers)) return stepTitle(step);
    if (!bios && !isQuiet(step)) return undefined;
    isBehindOthers ||= !bios;
  }
  return undefined;
}

/** @param left_to of `laterReset` */
export function leaveReset(
  left_to: string,
  task: string | undefined,
): { readonly kind: 'done'; readonly output: Note } {
  return { kind: 'done', output: { left_to, asked: 'left', ...(task === undefined ? {} : { task }) } };
}

/**
 * Explains why a step may not be left out of its flow: the BIOS settings of a step before it would not come. `undefined` =
 * it may. Pure.
 */
export function whyNeeded(steps: readonly FlowStepRow[], step: FlowStepRow): string | undefined {
  const bios = steps.find(
    (each, index) =>
      isWaiting(each) && nextReset(steps.slice(index + 1).filter(({ phase }) => phase === 'main'))?.uuid === step.uuid,
  );
  return bios && `the settings of ${stepTitle(bios)} before it take effect at its reset; abort the flow`;
}

function isWaiting({ state, output }: FlowStepRow): boolean {
  return state === 'succeeded' && awaitsReset(output);
}

/** @param later behind a step that has left its reset */
function nextReset(later: readonly FlowStepRow[]): FlowStepRow | undefined {
  const other = later.findIndex((each) => each.interface !== 'bios');
  return later.find(
    (each, index) => !isEnded(each.state) && !isQuiet(each) && (each.interface !== 'bios' || index > other),
  );
}

/** Lists the steps of the flow that have left their reset to others, and whose settings are not known to hold. */
export async function listLeft(context: StepContext): Promise<readonly LeftStep[]> {
  const steps = await stepsOf(context);
  return steps.flatMap((row) => {
    const note = row.state === 'succeeded' && row.interface === 'bios' ? Note.safeParse(row.output).data : undefined;
    return note && note.asked !== 'held' ? [{ row, note }] : [];
  });
}

export function noteLeft(context: StepContext, { row, note }: LeftStep, change: Partial<Note>): Promise<void> {
  return context.record((tx) => noteOutput(tx, row.uuid, { ...note, ...change }));
}

/** The machine has been reset. */
export async function noteReset(context: StepContext): Promise<void> {
  for (const each of await listLeft(context)) {
    if (each.note.asked === 'left') await noteLeft(context, each, { asked: 'along' });
  }
}

export function hasLeft(output: unknown): boolean {
  return Note.safeParse(output).success;
}
