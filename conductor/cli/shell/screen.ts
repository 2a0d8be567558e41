export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/**
 * The lines as they fit into a terminal, so that a live view can paint over itself: a line that wraps, or one that has
 * scrolled off, can't be reached again. Too long lines are cut; of too many the ones around the step at work and the
 * last are kept, and it is said how many are not shown. Pure.
 */
export function fitScreen(lines: readonly string[], { columns, rows }: ScreenSize): string[] {
  // the cursor stands below what is painted, and needs its row too
  const height = Math.max(1, rows - 1);
  return selectLines(lines.map(printable), height).map((line) => cutLine(line, columns));
}

/** One line of text that moves no cursor, and turns no other text around: what a machine says may hold anything. */
export function printable(text: string): string {
  return text.replaceAll(/\s*[\r\n]+\s*/g, ' ').replaceAll(/[\p{Cc}\p{Bidi_Control}]/gu, '\uFFFD');
}

/** First letters of lines of steps that are at work, wait, or have failed. */
const busyMarks: ReadonlySet<string> = new Set(['▶', '…', '✗']);

function selectLines(lines: readonly string[], height: number): readonly string[] {
  const last = lines.at(-1);
  if (lines.length <= height || last === undefined) return lines;
  const says = height >= 5; // else there is no room to say what is left out
  const room = height - (says ? 3 : 1);
  const steps = lines.slice(0, -1);
  const busy = steps.findIndex((line) => busyMarks.has(line.charAt(0)));
  const start = Math.min(Math.max(0, busy - Math.floor(room / 3)), steps.length - room);
  const shown = steps.slice(start, start + room);
  const below = steps.length - start - room;
  return says ? [elision(start, 'above'), ...shown, elision(below, 'below'), last] : [...shown, last];
}

function elision(count: number, where: string): string {
  return count === 0 ? '' : `      (${count} more ${where})`;
}

function cutLine(line: string, columns: number): string {
  const characters = charactersOf(line);
  if (characters.reduce((width, character) => width + widthOf(character), 0) < columns) return line;
  let cut = '';
  let width = 0;
  for (const character of characters) {
    width += widthOf(character);
    if (width > columns - 2) break;
    cut += character;
  }
  return columns < 2 ? '' : `${cut}…`;
}

/** Splits a line as a person counts characters: an accent or a joined emoji is not a character of its own. */
function charactersOf(line: string): string[] {
  return Array.from(new Intl.Segmenter().segment(line), ({ segment }) => segment);
}

/** Terminals give these two columns. */
const wide = /\p{sc=Han}|\p{sc=Hangul}|\p{sc=Hiragana}|\p{sc=Katakana}|\p{Emoji_Presentation}|[\uFF01-\uFF60]/u;

function widthOf(character: string): number {
  return wide.test(character) ? 2 : 1;
}

export interface Screen {
  readonly write: (output: string | Uint8Array) => void;
  /** Lines can be painted over; else each change is printed once. */
  readonly isTerminal: boolean;
  /** Words of state have colours; absent = they have none. */
  readonly hasColours?: boolean;
  /** Gives the size as it is now: people resize. */
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
