import { z } from 'zod';
import type { ShownFirmware } from '#conductor/drivers/interfaces.ts';
import { requireOffered } from '#conductor/flows/driver-steps/driver-step.ts';
import { type Done, noteFirmwareDone, type Update } from '#conductor/flows/driver-steps/firmware-done.ts';
import { waitingFor } from '#conductor/flows/driver-steps/firmware-time.ts';
import { type ConductorStepOutcome, type StepContext, stepArgs } from '#conductor/flows/step-context.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';

/** Updates whose tasks do not say how they ended are judged by the versions that the BMC shows. */

/** How long a BMC may show the version of before once it answers again. */
const staleVersionMs = 10 * 60_000;

type Shown = ReadonlyMap<string, string | null>;

interface Waiting {
  readonly done: Done;
  readonly updates: readonly Update[];
  /** Words for what is waited for. */
  readonly about: string;
}

interface Change extends Waiting {
  /** Words for the log, where the version of before is taken for the end. */
  readonly isOver: string;
}

/**
 * Waits until the BMC shows another version of each than before, or has shown that of before for minutes; `undefined` = the
 * wait is over.
 */
export async function awaitChange(context: StepContext, change: Change): Promise<ConductorStepOutcome | undefined> {
  const { done, updates, about, isOver } = change;
  const read = await readShown(context, change);
  if ('kind' in read) return read;
  const { shown, fault } = read;
  const late = updates.filter((update) => !isAnother(update, shown));
  if (late.length === 0) return undefined;
  if (fault) return unanswered(context, change, fault);
  const lateMs = await countLate(context, done, late);
  // some BMCs name a component by its version: the new one has another name; others show none while they write it
  const areKnown = late.every((update) => {
    const isShown = update.before ? versionNow(update, shown) !== undefined : shown.has(update.component);
    return isShown || update.hasEnded;
  });
  if (!areKnown || lateMs < staleVersionMs) return waitingFor(context, sinceOf(done, updates), about);
  context.log.warn(
    { components: late.map(({ component }) => component) },
    `${isOver}, and the BMC shows the version of before`,
  );
  return undefined;
}

/** Whether the BMC shows another version of each than before; not where it does not answer now. */
export async function areOthersShown(context: StepContext, waiting: Waiting): Promise<boolean> {
  const read = await readShown(context, waiting);
  return !('kind' in read) && waiting.updates.every((update) => isAnother(update, read.shown));
}

/**
 * Reads the versions that the BMC shows, by component; where it does not answer now, the outcome says so. With a `fault` a
 * new version counts, but no old one does.
 */
async function readShown(
  context: StepContext,
  waiting: Waiting,
): Promise<({ readonly shown: Shown } & Pick<ShownFirmware, 'fault' | 'mayHide'>) | ConductorStepOutcome> {
  try {
    const firmware = requireOffered(context, (bmc) => bmc.firmware);
    const { components, fault, mayHide } = await firmware.getComponents({ signal: context.signal });
    return { shown: new Map(components.map(({ component, version }) => [component, version])), fault, mayHide };
  } catch (error) {
    return unanswered(context, waiting, error);
  }
}

/**
 * Finds the version of a component that the BMC shows now; `undefined` = none is known. Dell names the items of its inventory by
 * their versions (https://github.com/dell/iDRAC-Redfish-Scripting: `Installed-25227-7.30.10.50__iDRAC.Embedded.1-1`): there
 * it is that of the item whose name differs by the version alone.
 */
export function versionNow(
  { component, before }: Pick<Update, 'component' | 'before'>,
  shown: Shown,
): string | undefined {
  if (shown.has(component) || !before || !component.includes(before)) return shown.get(component)?.trim() || undefined;
  const versions = [...shown].flatMap(([name, version]) =>
    version && component.replaceAll(before, () => version) === name ? [version.trim()] : [],
  );
  return versions.length === 1 ? versions[0] : undefined;
}

/** Whether the BMC shows another version than before; where it shows none, now or before, that is not known. */
function isAnother(update: Update, shown: Shown): boolean {
  const now = versionNow(update, shown);
  const before = update.before?.trim();
  return Boolean(now && before && now !== before);
}

/** Notes since when the updates are late. @returns milliseconds for which all of them have been late */
async function countLate(context: StepContext, done: Done, late: readonly Update[]): Promise<number> {
  const nowMs = context.clock.now().getTime();
  const sinceMs = Math.max(...late.map(({ lostSince }) => lostSince ?? nowMs));
  await noteLost(context, done, late, sinceMs);
  return nowMs - sinceMs;
}

const Stated = z.object({
  settings: z.array(z.object({ component: z.string(), version: z.string().trim().optional() })),
});

/** Reads the versions that the caller has stated, by component. */
function readStated(context: StepContext): ReadonlyMap<string, string> {
  const { settings } = Stated.parse(stepArgs(context));
  return new Map(settings.flatMap(({ component, version }) => (version === undefined ? [] : [[component, version]])));
}

/**
 * Waits until the BMC shows what the updates were for: the versions that the caller has stated, else others than before. Where
 * its task has said that an update ended well, and no version is stated, nothing more is asked for: the same one may have
 * been written again. A BMC that has dropped the task may have dropped one that failed. `undefined` = the proof is there.
 * @throws AppError `bmc_error` with the versions asked for and shown, after minutes
 */
export async function awaitProof(
  context: StepContext,
  done: Done,
  updates: readonly Update[],
): Promise<ConductorStepOutcome | undefined> {
  const stated = readStated(context);
  const open = updates.filter(({ component, hasOwnEnd }) => !hasOwnEnd || stated.has(component));
  if (open.length === 0) return undefined;
  const about = `the BMC to show the new version of ${open.map(({ component }) => component).join(', ')}`;
  const waiting = { done, updates: open, about };
  const read = await readShown(context, waiting);
  if ('kind' in read) return read;
  const { shown, fault, mayHide } = read;
  const late = open.filter((update) => !isShown(update, stated.get(update.component), shown));
  if (late.length === 0) return undefined;
  if (fault) return unanswered(context, waiting, fault);
  const hidden = late.find((update) => {
    const { component, before } = update;
    const isListed = Boolean(before) && shown.has(component);
    return versionNow(update, shown) === undefined && (isListed || mayHide(component, before));
  });
  if (hidden) {
    const error = new AppError('unavailable', `${hidden.component} can not be read, or shows no version now`);
    return unanswered(context, waiting, error);
  }
  if ((await countLate(context, done, late)) < staleVersionMs) {
    return waitingFor(context, sinceOf(done, open), about);
  }
  const words = late.map((update) => describeLate(update, stated.get(update.component), shown));
  // of an update whose end was not seen it is not known whether it goes on
  const mayBeUnderWay = late.some(({ hasOwnEnd }) => !hasOwnEnd);
  throw new AppError('bmc_error', words.join('; '), { details: mayBeUnderWay ? { mayBeUnderWay } : {} });
}

function isShown(update: Update, stated: string | undefined, shown: Shown): boolean {
  return stated === undefined ? isAnother(update, shown) : versionNow(update, shown) === stated;
}

function describeLate(update: Update, stated: string | undefined, shown: Shown): string {
  const { component, before, hasOwnEnd } = update;
  const now = versionNow(update, shown);
  const end = hasOwnEnd ? 'though its task ended well' : 'and no task that tells how the update ended';
  if (stated !== undefined) {
    return `update ${component}: asked for version ${stated}, the BMC shows ${now ?? 'none'}, ${end}`;
  }
  if (now === undefined || !before)
    return `update ${component}: the BMC shows ${now ?? 'no version'} after ${before ?? 'none'}, ${end}`;
  return `update ${component}: the BMC shows still version ${now}, ${end} (if the image is of that version, the step's settings can say so: "version": "${now}")`;
}

/**
 * Makes the outcome of a look that the BMC did not answer.
 * @throws what ends the work here: a conductor that stops, or has lost its lease or its database
 */
export async function unanswered(
  context: StepContext,
  { done, updates, about }: Waiting,
  error: unknown,
): Promise<ConductorStepOutcome> {
  if (context.signal.aborted || ['lease_lost', 'database_error'].includes(errorCode(error))) throw error;
  await noteLost(context, done, updates, null);
  return waitingFor(context, sinceOf(done, updates), `${about}, which does not answer now: ${errorChain(error)}`);
}

export async function noteLost(
  context: StepContext,
  done: Done,
  updates: readonly Update[],
  since: number | null,
): Promise<void> {
  const changed = updates.filter(({ lostSince }) => lostSince !== since);
  if (changed.length === 0) return;
  for (const update of changed) update.lostSince = since;
  await noteFirmwareDone(context, done);
}

/** Finds when the updates that are waited for began, or the reset that follows them. */
function sinceOf({ wasReset, resetSince }: Done, updates: readonly Update[]): number | null {
  const began = updates.flatMap(({ since }) => since ?? []);
  if (wasReset) return resetSince;
  return began.length === 0 ? null : Math.max(...began);
}
