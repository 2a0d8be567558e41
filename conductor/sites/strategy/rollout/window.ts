import { type RolloutWindow, type Weekday, weekdays } from '#conductor/model/site/rollout.ts';
import type { GroupRun } from '#conductor/model/site/site-run.ts';

/** Whether nodes may be begun at that moment. Pure. @param now milliseconds since 1970 */
export function isOpen({ from, to, days = weekdays, zone }: RolloutWindow, now: number): boolean {
  const { day, time } = localTime(now, zone);
  const begins = (weekday: Weekday): boolean => days.includes(weekday);
  if (from < to) return begins(day) && time >= from && time < to;
  // beyond midnight it is the window of the day before
  return (begins(day) && time >= from) || (begins(dayBefore(day)) && time < to);
}

/** Whether the group's window keeps its nodes from being begun. Pure. */
export function isClosed({ definition: { window }, rollout }: GroupRun, now: number): boolean {
  return window !== undefined && rollout?.windowSkipped !== true && !isOpen(window, now);
}

/** Whether the runtime has rules for the time zone. */
export function isTimeZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/** `opens 22:00 Europe/Berlin`, with the days where it isn't each. */
export function describeWindow({ from, days, zone }: RolloutWindow): string {
  return `${from} ${zone}${days === undefined ? '' : ` on ${days.join(', ')}`}`;
}

/** @returns time as `07:05`: times of a day compare as text */
function localTime(now: number, zone: string): { readonly day: Weekday; readonly time: string } {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, value]));
  const name = parts.get('weekday')?.toLowerCase();
  const day = weekdays.find((each) => each === name) ?? 'mon';
  return { day, time: `${parts.get('hour') ?? ''}:${parts.get('minute') ?? ''}` };
}

function dayBefore(day: Weekday): Weekday {
  return weekdays.at(weekdays.indexOf(day) - 1) ?? 'sun';
}
