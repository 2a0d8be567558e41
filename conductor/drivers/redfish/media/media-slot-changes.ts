import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import { httpStatusOf, namesOf } from '#conductor/drivers/redfish/client/errors.ts';
import { patchResource, readResource } from '#conductor/drivers/redfish/client/resource.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { finishTask } from '#conductor/drivers/redfish/client/task.ts';
import { type InsertBody, nextBody, plainBody, statedBody } from '#conductor/drivers/redfish/media/media-bodies.ts';
import {
  describeSlot,
  type MediaSlot,
  saysAnything,
  showsInsertion,
  slotState,
  VirtualMedia,
} from '#conductor/drivers/redfish/media/media-slots.ts';
import { AppError } from '#shared/errors/app-error.ts';

const pollMs = 1000;
/** Dell refuses with 500 while an ejection is still under way; Ironic asks three times, too (storyboard 2008504). */
const tries = 3;
const pauseMs = 3000;
const ejectMs = 60_000;
/** A request that lost its answer may be at work. */
const lostMs = 10_000;

/** One call to a BMC about its slots. */
export interface SlotCall {
  readonly system: RedfishSystem;
  readonly signal: AbortSignal;
  readonly what: string;
}

/** Whether no other slot and no other words can help: the call is over, or the login is refused, or the BMC is away. */
export function isFinal(error: unknown, signal: AbortSignal): boolean {
  if (signal.aborted || !(error instanceof AppError)) return true;
  return ['aborted', 'unavailable'].includes(error.code) || [401, 403].includes(httpStatusOf(error) ?? 0);
}

/**
 * Empties a slot, and answers how it is then. One that isn't sure to be full may refuse.
 * @throws AppError when it stays full
 */
export async function emptySlot(call: SlotCall, slot: MediaSlot): Promise<MediaSlot> {
  if (slotState(slot.data) === 'empty') return slot;
  const action = slot.data.Actions?.['#VirtualMedia.EjectMedia']?.target;
  const bodies = action === undefined ? [{ Image: null, Inserted: false }, { Image: null }] : [{}];
  for (let attempt = 1, index = 0; ; attempt += 1) {
    const refusal = await refusalOf(call, () => send(call, slot, action, bodies[index] ?? {}));
    const after = await awaitSlot(call, slot, (data) => slotState(data) !== 'full', waitFor(refusal, ejectMs));
    if (after.isSo) return after.slot;
    if (!refusal || refusal.code === 'timeout')
      throw new AppError('timeout', `${describeSlot(after.slot)} after it was ejected`);
    if (isPassing(refusal) && attempt < tries) await pause(call);
    else if (isFinal(refusal, call.signal)) throw refusal;
    else if (bodies[index + 1]) index += 1;
    else throw refusal;
  }
}

/**
 * Has an empty slot take the image, in words that grow by what the BMC's refusals name, and waits until it shows it.
 * @param waitMs how long an accepted image may take to show
 * @throws AppError with the refusal that counts: that of the words by the standard, or that grew from there by name;
 * `timeout` when the slot shows something else
 */
export async function fillSlot(call: SlotCall, slot: MediaSlot, url: string, waitMs: number): Promise<void> {
  const action = slot.data.Actions?.['#VirtualMedia.InsertMedia']?.target;
  const isThere = (data: VirtualMedia): boolean => showsInsertion(slot.data, data, url);
  const tried: InsertBody[] = [action === undefined ? statedBody(url) : plainBody(url)];
  let counts: AppError | undefined;
  let isNamed = true;
  for (let passing = 1; ; ) {
    const refusal = await refusalOf(call, () => send(call, slot, action, tried.at(-1) ?? {}));
    // some refuse what they have done
    const after = await awaitSlot(call, slot, isThere, waitFor(refusal, waitMs));
    if (after.isSo) return;
    if (!refusal || refusal.code === 'timeout') {
      throw new AppError('timeout', `${describeSlot(after.slot)}, not the image that was asked for`);
    }
    const next = nextBody(url, tried, namesOf(refusal));
    if (isPassing(refusal) && !next?.isNamed && passing < tries) {
      passing += 1;
      await pause(call);
      continue;
    }
    if (isFinal(refusal, call.signal)) throw refusal;
    counts = isNamed ? refusal : counts;
    // a task that failed was asked for in words that the BMC understood
    const isRefused = httpStatusOf(refusal) !== undefined || next?.isNamed === true;
    if (!next || !isRefused || isNoSlot(refusal)) throw counts ?? refusal;
    isNamed &&= next.isNamed;
    tried.push(next.body);
  }
}

/** Whether the slot isn't one that the BMC fills from an address: OpenBMC and Cisco list those of their consoles, too. */
export function isNoSlot(error: unknown): boolean {
  return [404, 405].includes(httpStatusOf(error) ?? 0);
}

async function send(
  { system, signal, what }: SlotCall,
  slot: MediaSlot,
  action: string | undefined,
  body: object,
): Promise<void> {
  const { client, clock } = system;
  const answer = await (action === undefined
    ? patchResource(client, slot, body, signal)
    : client.request({ method: 'POST', path: action, body, mayRepeat: true, signal }));
  await finishTask(client, answer, what, { clock, signal, isLookedAt: true });
}

/** @throws what is no refusal of this request but the end of the call */
async function refusalOf({ signal }: SlotCall, act: () => Promise<void>): Promise<AppError | undefined> {
  try {
    await act();
    return undefined;
  } catch (error) {
    if (signal.aborted || !(error instanceof AppError)) throw error;
    return error;
  }
}

function isLost(error: AppError): boolean {
  return error.code === 'unavailable' && error.details['sent'] === true;
}

/** How long the slot may take to show it, after this answer. */
function waitFor(refusal: AppError | undefined, answeredMs: number): number {
  if (!refusal || refusal.code === 'timeout') return answeredMs;
  return isLost(refusal) ? lostMs : 0;
}

/** Recognizes an error that the same request may meet no more in a while. */
function isPassing(error: AppError): boolean {
  const status = httpStatusOf(error) ?? 0;
  return isLost(error) || status === 409 || (status >= 500 && status !== 501);
}

async function pause({ system, signal, what }: SlotCall): Promise<void> {
  await system.clock.sleep(pauseMs, signal).catch(() => {
    throw stoppedError(signal, what);
  });
}

/** Reads a slot until it is as it is to be, or `forMs` have passed, or the call's time is over. */
async function awaitSlot(
  { system, signal, what }: SlotCall,
  { path }: MediaSlot,
  isSo: (data: VirtualMedia) => boolean,
  forMs: number,
): Promise<{ readonly slot: MediaSlot; readonly isSo: boolean }> {
  const { client, clock } = system;
  const until = clock.now().getTime() + forMs;
  for (;;) {
    const slot = await readResource(client, path, VirtualMedia, signal);
    if (saysAnything(slot.data) && isSo(slot.data)) return { slot, isSo: true };
    if (clock.now().getTime() >= until) return { slot, isSo: false };
    const stopped = await clock.sleep(pollMs, signal).then(
      () => undefined,
      () => stoppedError(signal, what),
    );
    if (stopped?.code === 'timeout') return { slot, isSo: false };
    if (stopped) throw stopped;
  }
}
