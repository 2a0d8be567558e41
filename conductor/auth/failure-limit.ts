import { isIPv6 } from 'node:net';
import { plainAddress } from '#shared/peers/address-ranges.ts';

/** Token buckets: each key has a reserve that fills up again steadily, and failing takes from it. */
export interface FailureLimit {
  /** Seconds to wait, whole and at least 1; 0 while the key has something left. */
  waitSeconds(key: string): number;
  fail(key: string): void;
}

/** Oldest go first: who has not failed for long has a full reserve anyway. */
const maxKeys = 20_000;

export function createFailureLimit(options: {
  readonly perSecond: number;
  /** Failures that a key may have at once. */
  readonly reserve: number;
  /**
   * Failures that it may owe besides, of attempts at the same time, all let in before the first was counted; default
   * none.
   */
  readonly debt?: number;
  /** Milliseconds. */
  readonly now: () => number;
}): FailureLimit {
  const { perSecond, reserve, debt = 0, now } = options;
  const buckets = new Map<string, { readonly left: number; readonly at: number }>();
  const leftNow = (key: string): number => {
    const bucket = buckets.get(key);
    return bucket ? Math.min(reserve, bucket.left + ((now() - bucket.at) / 1000) * perSecond) : reserve;
  };
  return {
    waitSeconds: (key) => {
      const left = leftNow(key);
      return left >= 1 ? 0 : Math.ceil((1 - left) / perSecond);
    },
    fail: (key) => {
      const left = Math.max(-debt, leftNow(key) - 1);
      buckets.delete(key);
      buckets.set(key, { left, at: now() });
      if (buckets.size <= maxKeys) return;
      const [oldest] = buckets.keys();
      if (oldest !== undefined) buckets.delete(oldest);
    },
  };
}

/**
 * Limits reports of what machines do that anybody may do as often as they like: a few a minute for each source.
 * @returns a function that counts a report, and returns whether it may be made
 */
export function limitReports(now: () => number): (source: string) => boolean {
  const reported = createFailureLimit({ perSecond: 0.1, reserve: 5, now });
  return (source) => {
    if (reported.waitSeconds(source) > 0) return false;
    reported.fail(source);
    return true;
  };
}

/** Returns the key under which a caller is counted: an IPv6 user has a whole /64. */
export function sourceKey(address: string | undefined): string {
  if (address === undefined) return 'unknown';
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('%')[0]?.split('::') ?? [];
  const groups = head === '' ? [] : head.split(':');
  const tailGroups = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - groups.length - tailGroups.length)).fill('0');
  return `${[...groups, ...zeros, ...tailGroups].slice(0, 4).join(':')}::/64`;
}
