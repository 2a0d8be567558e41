import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import { asksForReset, httpStatusOf, isLoginRefused, isRefusal } from '#conductor/drivers/redfish/client/errors.ts';
import type { Resource } from '#conductor/drivers/redfish/client/resource.ts';
import { patchResource } from '#conductor/drivers/redfish/client/resource.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { finishTask } from '#conductor/drivers/redfish/client/task.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

export interface Place<T> extends Pick<Resource<T>, 'path' | 'etag'> {
  /** `undefined` = it can't be read: some take writes alone. */
  readonly data: T | undefined;
}

export interface SettingsPlaces<T> {
  /** The next one to try; `undefined` = there is none. */
  next(signal: AbortSignal): Promise<Place<T> | undefined>;
  /** Whether a refusal says that this is not the place; where it names another, that comes next. */
  isElsewhere(error: unknown): boolean;
}

/** Milliseconds before a BMC is asked again what it shows, doubled each time; after the last it has not done it. */
const firstLookMs = 250;
const lastLookMs = 1000;
/** Milliseconds before what a web server has failed at is asked for once more. */
const pauseMs = 3000;

export interface Ask<T, Plan> {
  readonly what: string;
  readonly before: T;
  /** Lists what to write at a place, best first. @throws AppError `not_supported` where the place has no such thing */
  plans(place: Place<T>): readonly Plan[];
  body(plan: Plan): object;
  /** Reads which of the requested values are true now, of which the place shows the coming part. */
  read(place: Place<T>): Promise<readonly T[]>;
  /** Whether it says anything of what is asked for; where one place does, the others count for nothing. */
  shows(shown: T): boolean;
  /** How what is shown differs; `undefined` = not as far as anything is shown. `refused` are plans that the BMC has refused. */
  differs(shown: T, plan: Plan, refused: readonly Plan[]): string | undefined;
  /** Whether what is shown serves where no plan brings what was asked for; `isTaken` = the BMC has taken one. */
  serves?(shown: T, isTaken: boolean): boolean;
  /** It may be shown after the machine's next reset only, where the BMC asks for that. */
  readonly isShownAtReset?: boolean;
}

/**
 * Writes one plan after the other, at one place after the other, until the BMC shows what was asked for: some answer 200
 * and do nothing, some refuse and have done it. Answers what is shown then.
 * @throws AppError `bmc_error` naming what was asked for and what is shown; the first refusal where all was refused
 */
export async function writeUntilShown<T, Plan>(
  system: RedfishSystem,
  places: SettingsPlaces<T>,
  ask: Ask<T, Plan>,
  signal: AbortSignal,
): Promise<{ readonly shown: T; readonly plan: Plan }> {
  const refused: Plan[] = [];
  let refusal: unknown;
  let difference: string | undefined;
  let last: { readonly shown: T; readonly plan: Plan } | undefined;
  for (let place = await places.next(signal); place !== undefined; place = await places.next(signal)) {
    for (const plan of plansOf(ask, place, (error) => (refusal ??= error))) {
      const written = await write(system, place, ask, plan, signal);
      const isTaken = 'answer' in written;
      const isUnclear = !isTaken && !isRefusal(written.refusal);
      if (!isTaken) refusal ??= written.refusal;
      if (!isTaken && !isUnclear) refused.push(plan);
      const isLater = isTaken && ask.isShownAtReset === true && asksForReset(written.answer.body);
      const looking = { ask, plan, refused, isPatient: isUnclear || (isTaken && !isLater) };
      const found = await look(system, place, looking, signal).catch((error: unknown) => {
        throw isUnclear ? written.refusal : error;
      });
      const now = { shown: found.shown, plan };
      // what was shown before says nothing of a plan that is refused now
      const isNew = isTaken || ask.differs(ask.before, plan, refused) !== undefined;
      if (isLater || (found.difference === undefined && isNew)) return now;
      if (isUnclear) throw written.refusal;
      // where it is not written, what is shown counts for nothing else
      if (!isTaken && places.isElsewhere(written.refusal)) break;
      last = now;
      if (isTaken) difference ??= found.difference;
    }
  }
  if (last && ask.serves?.(last.shown, difference !== undefined)) return last;
  if (difference === undefined) throw refusal;
  throw new AppError('bmc_error', `the BMC has taken it, and does not show it: ${difference}`, { cause: refusal });
}

function plansOf<T, Plan>(ask: Ask<T, Plan>, place: Place<T>, unsupported: (error: unknown) => void): readonly Plan[] {
  try {
    return ask.plans(place);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_supported') throw error;
    unsupported(error);
    return [];
  }
}

async function write<T, Plan>(
  { client, clock }: RedfishSystem,
  place: Place<T>,
  ask: Ask<T, Plan>,
  plan: Plan,
  signal: AbortSignal,
): Promise<{ readonly answer: RedfishAnswer } | { readonly refusal: unknown }> {
  for (let isAgain = false; ; isAgain = true) {
    try {
      const answer = await patchResource(client, place, ask.body(plan), signal);
      await finishTask(client, answer, ask.what, { clock, signal, isLookedAt: true });
      return { answer };
    } catch (error) {
      // with the time over, nothing else is tried: these are the BMC's own words
      if (signal.aborted || !(isRefusal(error) || mayBeDone(error))) throw error;
      // a web server that fails for a moment has not refused the plan, and the next one may be less than was asked for
      if (isAgain || httpStatusOf(error) !== 500) return { refusal: error };
      await clock.sleep(pauseMs, signal).catch(() => Promise.reject(error));
    }
  }
}

/** Whether an error leaves open what was done: some BMCs answer 403 or 502 to what they do, and answers are lost. */
function mayBeDone(error: unknown): boolean {
  return ['bmc_error', 'unavailable', 'timeout'].includes(errorCode(error)) && !isLoginRefused(error);
}

async function look<T, Plan>(
  { clock }: RedfishSystem,
  place: Place<T>,
  {
    ask,
    plan,
    refused,
    isPatient,
  }: {
    readonly ask: Ask<T, Plan>;
    readonly plan: Plan;
    readonly refused: readonly Plan[];
    readonly isPatient: boolean;
  },
  signal: AbortSignal,
): Promise<{ readonly shown: T; readonly difference: string | undefined }> {
  for (let waitMs = firstLookMs; ; waitMs *= 2) {
    const shown = await ask.read(place);
    const showing = shown.filter((each) => ask.shows(each));
    const found = (showing.length > 0 ? showing : shown).map((each) => ({
      shown: each,
      difference: ask.differs(each, plan, refused),
    }));
    const [first = { shown: ask.before, difference: 'it shows nothing' }] = found;
    const right = found.find(({ difference }) => difference === undefined);
    if (right || !isPatient || waitMs > lastLookMs) return right ?? first;
    await clock.sleep(waitMs, signal).catch(() => {
      throw stoppedError(signal, ask.what);
    });
  }
}
