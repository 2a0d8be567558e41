import type { AgentsConfig } from '#conductor/agents/context.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { isLoopbackHost } from '#shared/peers/address-ranges.ts';

/** Values of `BATON_CONSOLE`. */
export const consoleAccess = ['false', 'loopback', 'true'] as const;
export type ConsoleAccess = (typeof consoleAccess)[number];

/**
 * Whether consoles are given out here at all; to whom, `conductor/auth/access-rules.ts` says: administrators. Where nobody
 * proves who they are everybody is one, so an API that others than this host's users may reach gives out root shells only
 * where the operator says so in full.
 * @throws AppError `forbidden` saying what would allow it
 */
export function requireConsoleAccess(config: Pick<AgentsConfig, 'console' | 'host'>): void {
  if (config.console === 'true' || (config.console === 'loopback' && isLoopbackHost(config.host))) return;
  const why =
    config.console === 'loopback'
      ? `BATON_CONSOLE=loopback, and the conductor listens on ${config.host}; BATON_CONSOLE=true allows it there too`
      : 'the setting BATON_CONSOLE does not allow it; loopback does when the conductor listens on a loopback address, ' +
        'true wherever it listens';
  throw new AppError('forbidden', `No consoles are given out: ${why}.`);
}
