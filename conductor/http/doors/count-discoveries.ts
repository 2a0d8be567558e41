import type { Context } from 'hono';
import { createFailureLimit, sourceKey } from '#conductor/auth/failure-limit.ts';
import { addressOf } from '#conductor/http/doors/admit-strangers.ts';
import type { DiscoverySource } from '#conductor/nodes/inspection/discovery-shares.ts';
import type { Clock } from '#shared/clock.ts';

/** Unknown machines that one address may report: `atOnce`, for a rack behind a router that hides addresses, then these. */
const perMinute = 20;
const atOnce = 60;

/** Says where a request comes from; unknown in process. */
export function countDiscoveries(clock: Clock): (c: Context) => DiscoverySource | undefined {
  const limit = createFailureLimit({ perSecond: perMinute / 60, reserve: atOnce, now: () => clock.now().getTime() });
  return (c) => {
    const address = addressOf(c);
    if (address === undefined) return undefined;
    const source = sourceKey(address);
    return {
      address: source,
      network: networkOf(source),
      waitSeconds: () => limit.waitSeconds(source),
      count: () => limit.fail(source),
    };
  };
}

/** Gives the network of a source as callers are counted: `192.0.2.7` or `2001:db8:1:2::/64`. */
function networkOf(source: string): string {
  return source.includes(':')
    ? `${source.split(':').slice(0, 3).join(':')}::/48`
    : `${source.split('.').slice(0, 3).join('.')}.0/24`;
}
