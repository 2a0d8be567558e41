import type { Screen } from '#conductor/cli/shell/screen.ts';

const two = (part: number): string => String(part).padStart(2, '0');

/**
 * A moment of the API as a person reads it: `2026-11-29 18:04:05` by the clock on their wall. A program gets it as the API
 * gives it, and so does anything that is no moment. Pure but for the host's time zone.
 */
export function shownTime({ isTerminal }: Pick<Screen, 'isTerminal'>, time: string): string {
  if (!isTerminal || !/^\d{4}-\d\d-\d\dT/.test(time)) return time;
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return time;
  const date = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-');
  return `${date} ${[at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(':')}`;
}
