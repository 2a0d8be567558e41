/**
 * Reads `Retry-After` (RFC 9110 §10.2.3), seconds or a date, as milliseconds from now; `undefined` = it says nothing. Pure.
 */
export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const until = Date.parse(text);
  return Number.isNaN(until) ? undefined : Math.max(0, until - now.getTime());
}
