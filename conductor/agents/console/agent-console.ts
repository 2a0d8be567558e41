import { readConsoleOccasion, whyOver } from '#conductor/agents/console/console-occasion.ts';
import type { ConsoleRequest, ConsoleSource } from '#conductor/agents/console/consoles.ts';
import { agentConsoleUrl, dialAgent } from '#conductor/agents/console/dial-agent.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { closeSocket } from '#shared/web-socket/close-socket.ts';
import { keepAlive } from '#shared/web-socket/keep-alive.ts';
import { pump } from '#shared/web-socket/pump.ts';
import type { ConsoleQuery } from '#shared/wire/console.ts';

/**
 * A new shell in the node's ramdisk, until the flow moves on.
 * @throws AppError `conflict` while no agent runs, `not_supported`
 */
export async function agentConsole(
  { db, secrets }: { readonly db: Queryable; readonly secrets: Secrets },
  nodeUuid: string,
  query: ConsoleQuery,
): Promise<Pick<ConsoleRequest, 'open' | 'during' | 'whyOver'>> {
  const occasion = await readConsoleOccasion(db, nodeUuid);
  agentConsoleUrl(occasion.session);
  return {
    during: occasion.stepName,
    open: async () => {
      if (!occasion.session) throw new AppError('internal', 'a console was admitted without an agent');
      return agentEnd(await dialAgent(secrets, occasion.session, query));
    },
    whyOver: async () => whyOver(occasion, await readConsoleOccasion(db, nodeUuid)),
  };
}

function agentEnd(agent: Awaited<ReturnType<typeof dialAgent>>): ConsoleSource {
  return {
    ended: new Promise((resolve) => {
      const otherwise = 'the connection to the agent was lost';
      if (agent.readyState === agent.CLOSED) resolve(otherwise);
      else agent.once('close', (_code, reason) => resolve(reason.toString() || otherwise));
    }),
    join: (operator) => {
      keepAlive(agent);
      pump(operator, agent);
      pump(agent, operator);
      agent.resume();
    },
    close: (reason) => closeSocket(agent, 1000, reason),
  };
}
