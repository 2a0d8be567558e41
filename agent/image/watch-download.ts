import type { Clock } from '#shared/clock.ts';
import { errorChain, faultOf } from '#shared/errors/app-error.ts';
import { isSituation } from '#shared/errors/fault-codes.ts';
import { showUrl } from '#shared/peers/show-url.ts';
import { type BytesByOrigin, longestError, type Progress } from '#shared/wire/progress.ts';

/** Reports of a download between two moves of its bytes: a server that is away, or sends nothing, must not look like a plan that goes on. */
export interface DownloadWatch {
  /** So many bytes of the file are here. */
  readonly moved: (done: number, total: number | undefined, origin?: BytesByOrigin) => void;
  /** A try has failed, and another follows. */
  readonly failed: (error: unknown, tries: number, url: string) => void;
  /** Looks whether bytes have moved since the last look, and reports it where none have. */
  readonly look: () => void;
}

const progressEveryMs = 500;
/** Bytes that come within this time stand still for nobody. */
const stillFromMs = 5_000;

export function watchDownload({
  clock,
  reportProgress,
}: {
  readonly clock: Clock;
  readonly reportProgress: (progress: Progress) => void;
}): DownloadWatch {
  const begun = clock.now().getTime();
  const last = { at: begun, bytes: 0 };
  const state: { progress: Progress; movedAt: number; done: number; trouble: Trouble | undefined } = {
    progress: { phase: 'writing image' },
    movedAt: begun,
    done: 0,
    trouble: undefined,
  };
  const reportStill = (): void => {
    const stillMs = clock.now().getTime() - state.movedAt;
    reportProgress({
      ...state.progress,
      rate: 0,
      still_seconds: Math.floor(stillMs / 1000),
      ...state.trouble,
    });
  };
  return {
    moved: (done, total, origin) => {
      const now = clock.now().getTime();
      if (done > state.done) {
        state.movedAt = now;
        state.trouble = undefined;
      }
      state.done = done;
      state.progress = {
        phase: 'writing image',
        done_bytes: done,
        ...(total === undefined ? {} : { total_bytes: total }),
        ...(origin && {
          kept_bytes: origin.kept,
          copied_bytes: origin.copied,
          fetched_bytes: origin.fetched,
          neighbour_bytes: origin.neighbours,
        }),
      };
      const elapsed = now - last.at;
      if (elapsed < progressEveryMs) return;
      reportProgress({ ...state.progress, rate: Math.max(0, Math.round(((done - last.bytes) * 1000) / elapsed)) });
      Object.assign(last, { at: now, bytes: done });
    },
    failed: (error, tries, url) => {
      state.trouble = troubleOf(error, tries, url);
      reportStill();
    },
    look: () => {
      const { done_bytes: done, total_bytes: total } = state.progress;
      const isThere = total !== undefined && done === total;
      if (!isThere && clock.now().getTime() - state.movedAt >= stillFromMs) reportStill();
    },
  };
}

type Trouble = Pick<Progress, 'tries' | 'last_error' | 'situation' | 'subject'>;

function troubleOf(error: unknown, tries: number, url: string): Trouble {
  const { code } = faultOf(error);
  return {
    tries,
    last_error: errorChain(error).slice(0, longestError),
    situation: isSituation(code) ? code : 'image_server',
    subject: showUrl(url).slice(0, longestError),
  };
}
