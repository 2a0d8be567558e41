import type { EngineContext } from '#conductor/flows/context.ts';

/**
 * The context with `requireHeld` asked before each call to a BMC, an agent or a switch: what is recorded is fenced by
 * the lease's token, but hardware knows no tokens.
 */
export function fence<Context extends Pick<EngineContext, 'drivers' | 'agents' | 'networks'>>(
  context: Context,
  requireHeld: () => void,
): Context {
  const { drivers, agents, networks } = context;
  return {
    ...context,
    drivers: {
      ...drivers,
      connect: (...args) => fenced(drivers.connect(...args), requireHeld),
    },
    agents: {
      ...agents,
      clientFor: (session, signal) => fenced(agents.clientFor(session, signal), requireHeld),
    },
    networks: {
      ...networks,
      connect: (request) => {
        requireHeld();
        return networks.connect(request);
      },
    },
  };
}

/** The object, each of whose functions, at any depth, asks first. */
export function fenced<T extends object>(target: T, requireHeld: () => void): T {
  return new Proxy(target, {
    get: (object, key): unknown => {
      const value: unknown = Reflect.get(object, key);
      if (typeof value === 'function') {
        return (...args: unknown[]): unknown => {
          requireHeld();
          return Reflect.apply(value, object, args);
        };
      }
      return typeof value === 'object' && value !== null && !Array.isArray(value) ? fenced(value, requireHeld) : value;
    },
  });
}
