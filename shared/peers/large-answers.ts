import { type Clock, systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Size below which answers are not queued: a thousand of them take less than the large ones. */
export const largeBytes = 1024 * 1024;

export interface LargeAnswerLimits {
  /** Answers that are read at the same time. Each may take its kind's limit in memory, and as much again while it is parsed. */
  readonly atOnce: number;
  /** Bytes a second of all of them together: bounds the processor time that peers can take by long answers. */
  readonly bytesPerSecond: number;
  /** Read without a pause after a quiet time: more than the largest answer that is allowed. */
  readonly burstBytes: number;
  /** Bytes that a sender must bring in a second while others wait for its place. */
  readonly leastBytesPerSecond: number;
}

const usual: LargeAnswerLimits = {
  atOnce: 4,
  bytesPerSecond: 16 * 1024 * 1024,
  burstBytes: 100 * 1024 * 1024,
  leastBytesPerSecond: 256 * 1024,
};

export interface Sender {
  /** The sender, as `192.0.2.7:9999`: those who have sent least are read first. */
  readonly peer: string;
  /** Ends the waiting, of `begin` and of `take`. */
  readonly signal: AbortSignal;
  /** Called for a sender that is too slow while others wait. */
  readonly cut: (error: AppError) => void;
}

export interface LargeAnswer {
  /** Until so many more bytes may be read; a sender whose bytes are not read waits, too. @throws the signal's reason */
  take(bytes: number): Promise<void>;
  /** Gives the place back; again is nothing. */
  end(): void;
}

export interface LargeAnswers {
  /** A place, in its turn. @throws the signal's reason */
  begin(sender: Sender): Promise<LargeAnswer>;
}

/** Places for large answers, and a pace for all of them together, so that some who send much delay nobody else. */
export function createLargeAnswers(limits = usual, clock: Clock = systemClock): LargeAnswers {
  const pace = createPace(limits, clock);
  const state = { free: limits.atOnce, looking: undefined as NodeJS.Timeout | undefined };
  /** `bytes`: since the last look; `Infinity`: not for all of that time. */
  const readings = new Set<{ readonly sender: Sender; bytes: number; isPaced: boolean }>();
  const waiting = new Map<() => void, Sender>();
  /** Bytes of each peer since the line was last empty. */
  const sent = new Map<string, number>();
  const sentBy = ({ peer }: Sender): number => sent.get(peer) ?? 0;

  const cutSlowSenders = (): void => {
    for (const reading of readings) {
      if (!reading.isPaced && reading.bytes < limits.leastBytesPerSecond) {
        reading.sender.cut(new AppError('unavailable', 'it sends too slowly for so large an answer'));
      }
      reading.bytes = reading.isPaced ? Infinity : 0;
    }
  };
  const waitInLine = (sender: Sender): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = (): void => reject(sender.signal.reason as Error);
    waiting.set(resolve, sender);
    sender.signal.addEventListener('abort', giveUp, { once: true });
    state.looking ??= setInterval(cutSlowSenders, 1000).unref();
    return promise.finally(() => {
      waiting.delete(resolve);
      sender.signal.removeEventListener('abort', giveUp);
      if (waiting.size > 0) return;
      clearInterval(state.looking);
      state.looking = undefined;
    });
  };
  /** The place is handed on, so that nobody who comes just now gets in before. */
  const leave = (): void => {
    const [next] = [...waiting].sort(([, a], [, b]) => sentBy(a) - sentBy(b));
    if (next) {
      const [enter] = next;
      waiting.delete(enter);
      enter();
      return;
    }
    state.free += 1;
    sent.clear();
  };

  return {
    begin: async (sender) => {
      sender.signal.throwIfAborted();
      if (state.free > 0) state.free -= 1;
      else await waitInLine(sender);
      const reading = { sender, bytes: Infinity, isPaced: false };
      readings.add(reading);
      return {
        take: async (bytes) => {
          reading.bytes += bytes;
          sent.set(sender.peer, sentBy(sender) + bytes);
          reading.isPaced = true;
          await pace(bytes, sender.signal);
          reading.isPaced = false;
        },
        end: () => {
          if (readings.delete(reading)) leave();
        },
      };
    },
  };
}

/** Lets so many bytes through, at once while the budget lasts, and else as fast as it fills. */
function createPace(
  { bytesPerSecond, burstBytes }: LargeAnswerLimits,
  clock: Clock,
): (bytes: number, signal: AbortSignal) => Promise<void> {
  const budget = { bytes: burstBytes, at: clock.now().getTime() };
  return async (bytes, signal) => {
    const now = clock.now().getTime();
    // a clock that is set back fills nothing
    const filled = (Math.max(0, now - budget.at) * bytesPerSecond) / 1000;
    budget.bytes = Math.min(burstBytes, budget.bytes + filled) - bytes;
    budget.at = now;
    if (budget.bytes < 0) await clock.sleep((-budget.bytes * 1000) / bytesPerSecond, signal);
  };
}
