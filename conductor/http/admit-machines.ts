import type { Context, MiddlewareHandler } from 'hono';
import { isAgentAddress } from '#conductor/agents/agent-address.ts';
import { addressOf } from '#conductor/http/caller-source.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { AppError } from '#shared/errors/app-error.ts';

const ofMachines = /^\/(?:v1\/(?:lookup|heartbeat|neighbours|progress|continue_inspection)|boot)(?:\/|$)/;

/** @throws AppError `forbidden` for what machines and agents ask, from outside of their networks (`BATON_AGENT_NETWORKS`). */
export function requireMachineNetwork({ config, log }: Pick<HttpContext, 'config' | 'log'>): (c: Context) => void {
  return (c) => {
    const { path } = c.req;
    if (!ofMachines.test(path)) return;
    const address = addressOf(c);
    if (isAgentAddress(config.outbound.agents, address)) return;
    log.info({ address, path }, 'refused: not in BATON_AGENT_NETWORKS');
    throw new AppError('forbidden', 'Your address is in no network of machines (BATON_AGENT_NETWORKS).');
  };
}

/** The same as middleware. */
export function admitMachines(context: Pick<HttpContext, 'config' | 'log'>): MiddlewareHandler {
  const refuse = requireMachineNetwork(context);
  return (c, next) => {
    refuse(c);
    return next();
  };
}
