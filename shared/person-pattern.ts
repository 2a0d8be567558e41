import { AppError } from '#shared/errors/app-error.ts';
import { runWithin } from '#shared/run-within.ts';

/** A regular expression that somebody outside of this program has written: an operator, a document, an image, a ramdisk. */
export interface PersonPattern {
  /** @throws AppError `timeout` when it takes too long. */
  readonly test: (text: string) => boolean;
  /** Looks with it in another way. @throws AppError `timeout` when it takes too long. */
  readonly look: <Found>(by: (matcher: RegExp) => Found) => Found;
}

const millisecondsDefault = 500;

/**
 * Compiles a pattern that is given up when it takes too long: V8's engine goes back, and `A.*B` takes hours on a text that
 * a machine has chosen. One that does not, as RE2's, refuses look-aheads and back references, which inspection rules of
 * Ironic and documents of Deckhand have, both written for Python. It holds its thread
 * for so long; what strangers can make the conductor look at is looked at on another (`match-apart.ts`).
 * @throws SyntaxError for what is no pattern.
 */
export function personPattern(source: string, flags: string, milliseconds = millisecondsDefault): PersonPattern {
  const matcher = new RegExp(source, flags);
  // nothing in it to go back over: no need for the machinery below, which takes a thread
  const isPlain = !/[*+?{(|]/.test(source);
  const look = <Found>(by: (matcher: RegExp) => Found): Found => {
    if (isPlain) return by(matcher);
    const found: Found[] = [];
    const hasEnded = runWithin(milliseconds, () => void found.push(by(matcher)));
    if (hasEnded && found.length > 0) return found[0] as Found;
    const text = `the regular expression ${JSON.stringify(source)} takes longer than ${milliseconds / 1000} s`;
    throw new AppError('timeout', `${text}: write one with fewer *, + and alternatives`, { retryable: false });
  };
  return { look, test: (text) => look((each) => each.test(text)) };
}
