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

const minuteMs = 60_000;
const minutesOfDay = 24 * 60;
/** A window opens within a week, and the days on which clocks are changed. */
const longestSearchMs = 9 * minutesOfDay * minuteMs;

/**
 * Finds when the window opens next: `now` where it is open. Pure.
 * @returns milliseconds since 1970; `undefined` = not within nine days
 */
export function nextOpening(window: RolloutWindow, now: number): number | undefined {
  if (isOpen(window, now)) return now;
  const from = minutesOf(window.from);
  for (let at = now - (now % minuteMs) + minuteMs; at <= now + longestSearchMs; at += minuteMs) {
    at += ((from - minutesOf(localTime(at, window.zone).time) + minutesOfDay) % minutesOfDay) * minuteMs;
    if (!isOpen(window, at)) continue;
    // where clocks were set forward past its beginning, it has been open for longer
    while (at - minuteMs > now && isOpen(window, at - minuteMs)) at -= minuteMs;
    return at;
  }
  return undefined;
}

function minutesOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return 60 * hours + minutes;
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

/** Clocks by time zone: making one takes far longer than reading it. */
const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(zone: string): Intl.DateTimeFormat {
  const known = clocks.get(zone);
  if (known) return known;
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  clocks.set(zone, clock);
  return clock;
}

/** @returns time as `07:05`: times of a day compare as text */
function localTime(now: number, zone: string): { readonly day: Weekday; readonly time: string } {
  const parts = new Map(
    clockOf(zone)
      .formatToParts(now)
      .map(({ type, value }) => [type, value]),
  );
  const name = parts.get('weekday')?.toLowerCase();
  const day = weekdays.find((each) => each === name) ?? 'mon';
  return { day, time: `${parts.get('hour') ?? ''}:${parts.get('minute') ?? ''}` };
}

function dayBefore(day: Weekday): Weekday {
  return weekdays.at(weekdays.indexOf(day) - 1) ?? 'sun';
}
