import type { IncomingMessage } from 'node:http';
import type { Context, MiddlewareHandler } from 'hono';
import { isAgentAddress } from '#conductor/agents/record-heartbeat.ts';
import type { AuthConfig } from '#conductor/auth/auth-settings.ts';
import { createFailureLimit, limitReports, sourceKey } from '#conductor/auth/failure-limit.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { applicationFault } from '#conductor/http/routing/error-answers.ts';
import type { SeenMachine } from '#conductor/nodes/boot/boot-event-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { parseCardAddresses } from '#shared/mac-address.ts';

/** Returns the address of a caller; `undefined` in process. */
export function addressOf(c: Context): string | undefined {
  const { incoming } = (c.env ?? {}) as { readonly incoming?: IncomingMessage };
  return incoming?.socket.remoteAddress;
}

/** Returns the key under which callers are counted: their address. */
export function sourceOf(c: Context): string {
  return sourceKey(addressOf(c));
}

export function tooMany(c: Context<ApiEnv>, waitSeconds: number): Response {
  c.header('Retry-After', String(waitSeconds));
  return applicationFault(c, 429, `Too many requests from your address have failed; try again in ${waitSeconds} s.`);
}

/**
 * Refuses hosts that are not known, for APIs without logins. A page of another site may have made its own name lead here
 * (DNS rebinding): a browser then takes the API for that site's, and sends no `Origin`. And what a proxy passes on comes
 * from this host no matter who sent it.
 * @throws AppError `forbidden` naming the header.
 */
export function requireKnownHost(
  c: Pick<Context, 'req'>,
  { publicUrl, auth }: { readonly publicUrl: string; readonly auth: Pick<AuthConfig, 'allowUnauthenticated'> },
): void {
  const host = c.req.header('host');
  // load balancers ask by HTTP/1.0 without one, browsers never
  if (host !== undefined && !isLiteralHost(host) && host.toLowerCase() !== new URL(publicUrl).host) {
    throw new AppError(
      'forbidden',
      `Requests for ${host} are refused (Host header): with BATON_AUTH=none it must be an address, localhost, or as in BATON_PUBLIC_URL.`,
    );
  }
  const proxied = ['forwarded', 'x-forwarded-for', 'x-real-ip'].find((name) => c.req.header(name) !== undefined);
  if (proxied !== undefined && !auth.allowUnauthenticated) {
    throw new AppError(
      'forbidden',
      `Requests that a proxy passes on (${proxied} header) are refused with BATON_AUTH=none, which is for this host's users.`,
    );
  }
}

/** Recognizes an address; a name may have been made to lead here for a moment. */
export function isLiteralHost(host: string): boolean {
  return /^(localhost|\[[0-9a-f:.]+\]|\d+\.\d+\.\d+\.\d+)(:\d+)?$/i.test(host);
}

/** The reserve of an address: as many failures as it gets back in so many seconds. */
const reserveSeconds = 20;
/** Agents of so many nodes are remembered; the others merely share their address's reserve. */
const maxProven = 50_000;

/**
 * Limits failures of requests without authentication, by address. What succeeds never counts, and an agent whose token was
 * right goes on whatever others do behind the same address: ten thousand may sit behind one relay.
 */
export function admitStrangers(
  context: Pick<HttpContext, 'clock' | 'config' | 'log'>,
  report: ReportRefusal,
): MiddlewareHandler<ApiEnv> {
  const { clock, config } = context;
  const refuse = requireMachineNetwork(context, report);
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

const ofMachines = /^\/(?:v1\/(?:attestations|lookup|heartbeat|neighbours|progress|continue_inspection)|boot)(?:\/|$)/;

/** Tells people of a machine that was refused (`noteRefusal`). */
export type ReportRefusal = (machine: SeenMachine, request: string, error: AppError) => void;

/**
 * Makes the check of a machine's address. It reports a boot that it stops, a few times a minute for each address.
 * @throws AppError `forbidden` for what machines and agents ask, from outside of their networks (`BATON_AGENT_NETWORKS`).
 */
function requireMachineNetwork(
  { config, log, clock }: Pick<HttpContext, 'config' | 'log' | 'clock'>,
  report: ReportRefusal,
): (c: Context) => void {
  const mayReport = limitReports(() => clock.now().getTime());
  return (c) => {
    const { path } = c.req;
    if (!ofMachines.test(path)) return;
    const address = addressOf(c);
    if (isAgentAddress(config.outbound.agents, address)) return;
    log.info({ address, path }, 'refused: not in BATON_AGENT_NETWORKS');
    const advice = `It called from ${address ?? 'an unknown address'}: if that is the machine, add its network.`;
    const message = 'Your address is in no network of machines (BATON_AGENT_NETWORKS).';
    const error = new AppError('forbidden', message, { details: { advice } });
    const machine = machineOf(c);
    if (machine && mayReport(sourceOf(c))) report(machine, path.slice(1), error);
    throw error;
  };
}

/** Reads which machine a request says that it is of; `undefined` where it says nothing. */
function machineOf({ req }: Context): SeenMachine | undefined {
  const ident = /^\/v1\/(?:heartbeat|progress|neighbours)\/([^/]+)$/.exec(req.path)?.[1];
  if (ident !== undefined) return { ident };
  const given = req.query('mac') ?? req.query('addresses') ?? '';
  const macs = parseCardAddresses(given.split(','));
  return macs.length === 0 ? undefined : { macs };
}

/** The same as middleware. */
export function admitMachines(
  context: Pick<HttpContext, 'config' | 'log' | 'clock'>,
  report: ReportRefusal,
): MiddlewareHandler {
  const refuse = requireMachineNetwork(context, report);
  return (c, next) => {
    refuse(c);
    return next();
  };
}
