import { createContext, Script } from 'node:vm';

/** Made once: a context takes a millisecond. What it runs is called and has ended before anything else is. */
const place: { work?: () => void } = {};
createContext(place);
const callWork = new Script('work()');

/**
 * Runs what documents can make endless, such as their regular expressions, and breaks it off when its time is over.
 * Takes a thread each time. @returns whether it came to its end
 */
export function runWithin(milliseconds: number, work: () => void): boolean {
  try {
    place.work = work;
    callWork.runInContext(place, { timeout: milliseconds });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false;
    throw error;
  }
}
