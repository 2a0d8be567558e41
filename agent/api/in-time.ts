import { Agent } from 'undici';
import { AppError } from '#shared/errors/app-error.ts';
import { askPeer } from '#shared/peers/ask-peer.ts';

interface InTime {
  readonly now: () => Date;
  /** Sets the machine's clock forward to a time that nobody vouches for; absent where the clock is not ours. */
  readonly raiseClock: ((time: Date) => Promise<void>) | undefined;
  readonly timeoutMs: number;
}

/**
 * Makes requests whose server's certificate may be of the future, because this machine's clock is behind: nothing that the
 * server says could be heard. Then its time is asked for once, and the request is made again.
 * @returns a function that throws AppError `unavailable` naming what the clock says where a certificate's dates are the
 * problem; else what the request throws
 */
export function createInTime({ now, raiseClock, timeoutMs }: InTime) {
  const asked = { once: false };
  return async <T>(url: string, request: () => Promise<T>): Promise<T> => {
    try {
      return await request();
    } catch (error) {
      const problem = dateProblem(error);
      if (problem === undefined) throw error;
      if (problem === 'not yet valid' && raiseClock && !asked.once) {
        asked.once = true;
        const time = await askUnverifiedTime(url, timeoutMs);
        if (time && time.getTime() > now().getTime()) {
          await raiseClock(time);
          return await request();
        }
      }
      const clock = now().toISOString().replace(/\.\d+/, '');
      const text = `the certificate of ${url} is ${problem} by this machine's clock, which says ${clock}`;
      throw new AppError('unavailable', text, { cause: error });
    }
  };
}

/** Recognizes a certificate that is right but for its dates, by OpenSSL's words. */
function dateProblem(error: unknown): 'not yet valid' | 'not valid any more' | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    const { code } = current as NodeJS.ErrnoException;
    if (code === 'CERT_NOT_YET_VALID') return 'not yet valid';
    if (code === 'CERT_HAS_EXPIRED') return 'not valid any more';
  }
  return undefined;
}

/** `Date` of a server that may be anybody; nothing is told to it, and nothing else of its answer is used. */
async function askUnverifiedTime(url: string, timeoutMs: number): Promise<Date | undefined> {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } });
  try {
    const { headers } = await askPeer('conductor', `${url}/`, {
      who: 'the conductor',
      method: 'GET',
      dispatcher,
      timeoutMs,
    });
    const time = new Date(String(headers['date']));
    return Number.isNaN(time.getTime()) ? undefined : time;
  } catch {
    return undefined;
  } finally {
    await dispatcher.destroy();
  }
}
