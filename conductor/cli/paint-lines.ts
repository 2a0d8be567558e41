import { fitScreen, type ScreenSize } from '#conductor/cli/fit-screen.ts';

export interface Screen {
  readonly write: (output: string | Uint8Array) => void;
  /** Lines can be painted over; else each change is printed once. */
  readonly isTerminal: boolean;
  /** As it is now: people resize. */
  readonly size: () => ScreenSize;
}

/** Paints lines over those that it painted before of the same subject. */
export function createPainter(screen: Screen): (subject: string, lines: readonly string[]) => void {
  let painted = { subject: '', lines: 0, columns: 0 };
  return (subject, lines) => {
    const size = screen.size();
    // a narrower terminal has wrapped what stands there: nobody knows how many rows it takes now
    const over = painted.subject === subject && painted.columns <= size.columns ? painted.lines : 0;
    const fitted = fitScreen(lines, size);
    // what has become shorter must leave no old lines below
    const erase = `${over > 0 ? `\u001b[${over}A` : ''}\u001b[J`;
    screen.write(`${erase}${fitted.map((line) => `${line}\n`).join('')}`);
    painted = { subject, lines: fitted.length, columns: size.columns };
  };
}
