import type { AgentClient } from '#conductor/agents/agent-client.ts';
import { errorWithout, type Hide } from '#conductor/kernel/secrets/hide-secrets.ts';
import type { CommandResult } from '#shared/wire/command.ts';

/**
 * An agent that fails may repeat what it was told, passwords among it: its words come without them. What its commands
 * answer is left as it is, since things are decided from it (`record-outcome.ts` hides what it stores).
 */
export function hideInAnswers(agent: AgentClient, hide: Hide): AgentClient {
  const withoutSecretsIn = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      throw errorWithout(hide, error);
    }
  };
  return {
    post: async (command, options) => withoutSecrets(await withoutSecretsIn(agent.post(command, options)), hide),
    list: async () => (await withoutSecretsIn(agent.list())).map((result) => withoutSecrets(result, hide)),
  };
}

function withoutSecrets(result: CommandResult, hide: Hide): CommandResult {
  const error = result.command_error;
  if (!error) return result;
  const words = Object.fromEntries(
    Object.entries(error).map(([key, value]) => [key, typeof value === 'string' ? hide(value) : value]),
  );
  return { ...result, command_error: { ...error, ...words } };
}
