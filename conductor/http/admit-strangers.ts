import type { MiddlewareHandler } from 'hono';
import { createFailureLimit } from '#conductor/auth/failure-limit.ts';
import { requireMachineNetwork } from '#conductor/http/admit-machines.ts';
import type { ApiEnv } from '#conductor/http/api-app.ts';
import { sourceOf, tooMany } from '#conductor/http/caller-source.ts';
import type { HttpContext } from '#conductor/http/context.ts';

/** The reserve of an address: as many failures as it gets back in so many seconds. */
const reserveSeconds = 20;
/** Agents of so many nodes are remembered; the others merely share their address's reserve. */
const maxProven = 50_000;

/**
 * Limits failures of requests without authentication, by address. What succeeds never counts, and an agent whose token was
 * right goes on whatever others do behind the same address: ten thousand may sit behind one relay.
 */
export function admitStrangers(context: Pick<HttpContext, 'clock' | 'config' | 'log'>): MiddlewareHandler<ApiEnv> {
  const { clock, config } = context;
  const refuse = requireMachineNetwork(context);
  const perSecond = config.auth.publicFailuresPerSecond;
  const failures = createFailureLimit({
    perSecond,
    reserve: perSecond * reserveSeconds,
    now: () => clock.now().getTime(),
  });
  const proven = new Set<string>();
  return async (c, next) => {
    refuse(c);
    const source = sourceOf(c);
    const ofAgent = /^\/v1\/(?:heartbeat|neighbours|progress)\/([^/]+)$/.exec(c.req.path)?.[1];
    const agent = ofAgent === undefined ? undefined : `${source} ${ofAgent}`;
    if (agent === undefined || !proven.has(agent)) {
      const wait = failures.waitSeconds(source);
      if (wait > 0) return tooMany(c, wait);
    }
    await next();
    if (c.res.status >= 400 && c.res.status < 500) {
      failures.fail(source);
      if (agent !== undefined) proven.delete(agent);
    } else if (agent !== undefined && c.res.ok) {
      if (proven.size >= maxProven) proven.clear();
      proven.add(agent);
    }
    return undefined;
  };
}
