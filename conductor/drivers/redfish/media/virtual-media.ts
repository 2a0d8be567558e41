import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { VirtualMediaInterface } from '#conductor/drivers/interfaces.ts';
import type { MediaTrust } from '#conductor/drivers/redfish/client/driver-info.ts';
import { underTitle } from '#conductor/drivers/redfish/client/errors.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import {
  emptySlot,
  fillSlot,
  isFinal,
  isNoSlot,
  type SlotCall,
} from '#conductor/drivers/redfish/media/media-slot-changes.ts';
import {
  describeSlot,
  type MediaSlot,
  namesImage,
  readSlots,
  slotState,
} from '#conductor/drivers/redfish/media/media-slots.ts';
import { setMediaTrust } from '#conductor/drivers/redfish/media/media-trust.ts';
import { AppError, errorChain, errorCode, isRetryable } from '#shared/errors/app-error.ts';

/** BMCs answer once they have looked at the image, which they fetch for it. */
const timeoutMs = 180_000;
/** So long an accepted image may take to show before the next slot is asked. */
const showsWithinMs = 60_000;

/** The virtual CD drives of the system, or of its managers (DMTF VirtualMedia schema). */
export function redfishVirtualMedia(system: RedfishSystem, trust?: MediaTrust): VirtualMediaInterface {
  const { origin } = system.client;
  return {
    list: async (options) => {
      const { slots } = await readSlots(system, callDeadline(options, timeoutMs).signal);
      return slots.map(({ data }) => ({
        mediaTypes: data.MediaTypes ?? [],
        inserted: data.Inserted ?? slotState(data) === 'full',
        image: data.Image || null,
      }));
    },
    eject: async (options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const call: SlotCall = { system, signal, what: `eject virtual media at ${origin}` };
      const { slots, unread } = await readSlots(system, signal);
      const kept: unknown[] = [...unread];
      for (const slot of slots) {
        if (options?.only?.(slot.data.Image ?? '') === false) continue;
        await emptySlot(call, slot).catch((error: unknown) => {
          if (signal.aborted) throw error;
          kept.push(error);
        });
      }
      if (kept.length > 0) await underTitle(call.what, () => Promise.reject(joined(kept)));
    },
    insert: async (url, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const call: SlotCall = { system, signal, what: `insert virtual media at ${origin}` };
      const { slots, unread } = await readSlots(system, signal);
      const current: MediaSlot[] = [];
      for (const slot of slots) {
        const isLeft = options?.replaces?.(slot.data.Image ?? '') === true;
        current.push(isLeft ? await emptySlot(call, slot).catch(unlessFinal(signal, slot)) : slot);
      }
      const chosen = await underTitle(call.what, () => fillOne(call, { slots: current, unread, url, trust }));
      return { beside: current.filter((slot) => slot !== chosen && slotState(slot.data) === 'full').map(describeSlot) };
    },
  };
}

interface Wanted {
  readonly slots: readonly MediaSlot[];
  readonly unread: readonly AppError[];
  readonly url: string;
  readonly trust: MediaTrust;
}

/**
 * Fills the first slot that takes the image: empty ones before those that somebody's image is in. That is ejected, as by
 * Ironic, only where the BMC has no empty slot that it fills from an address; it could be what no one remembers, and would
 * stop the machine from booting for good. Otherwise it is a person's, who may be working with it.
 */
async function fillOne(call: SlotCall, { slots, unread, url, trust }: Wanted): Promise<MediaSlot> {
  const { system, signal } = call;
  const holder = slots.find(({ data }) => slotState(data) === 'full' && namesImage(data, url));
  if (holder) return holder;
  const refusals: unknown[] = [];
  const tryOne = async (act: () => Promise<void>): Promise<boolean> => {
    try {
      await act();
      return true;
    } catch (error) {
      if (signal.aborted && refusals.length > 0) {
        throw new AppError(errorCode(error), 'took longer than allowed', { cause: joined(refusals) });
      }
      if (isFinal(error, signal)) throw error;
      refusals.push(error);
      return false;
    }
  };
  const fill = async (slot: MediaSlot, waitMs: number): Promise<void> => {
    if (url.startsWith('https:')) await setMediaTrust(system, slot, trust, signal);
    await fillSlot(call, slot, url, waitMs);
  };
  const ordered = slots.toSorted((one, other) => rank(one) - rank(other));
  const free = ordered.filter(({ data }) => slotState(data) !== 'full');
  const taken = ordered.filter(({ data }) => slotState(data) === 'full');
  for (const [index, slot] of free.entries()) {
    const waitMs = index === free.length - 1 ? timeoutMs : showsWithinMs;
    if (await tryOne(async () => fill(await emptySlot(call, slot), waitMs))) return slot;
  }
  if (!refusals.every(isNoSlot)) throw joined([...refusals, ...unread], taken);
  for (const slot of taken) {
    const ejected: MediaSlot[] = [];
    if (!(await tryOne(async () => void ejected.push(await emptySlot(call, slot))))) continue;
    const [empty] = ejected;
    if (empty && (await tryOne(() => fill(empty, timeoutMs)))) return slot;
    // nobody else's image goes for one that is refused
    if (!isNoSlot(refusals.at(-1))) break;
  }
  throw joined([...refusals, ...unread]);
}

/** Empty ones first; of what is in others last what a person has there from a console. */
function rank({ data }: MediaSlot): number {
  const state = slotState(data);
  if (state !== 'full') return state === 'empty' ? 0 : 1;
  return data.ConnectedVia === 'Applet' ? 3 : 2;
}

/** One error of all, with the first one's code. */
function joined(errors: readonly unknown[], left: readonly MediaSlot[] = []): unknown {
  if (errors.length === 1 && left.length === 0) return errors[0];
  const held = left.map((slot) => `${describeSlot(slot)}, and is left as it is: eject it to have it used`);
  const retryable = errors.some(isRetryable);
  return new AppError(errorCode(errors[0]), [...errors.map(errorChain), ...held].join('; '), { retryable });
}

function unlessFinal(signal: AbortSignal, slot: MediaSlot): (error: unknown) => MediaSlot {
  return (error) => {
    if (isFinal(error, signal)) throw error;
    return slot;
  };
}
