import type { AgentClient } from '#conductor/agents/agent-client.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';

/** An agent that listens for LLDP answers when switches have spoken: every 30 s, and some only every other time. */
const timeoutMs = 120_000;

/**
 * What the agent's machine is made of now, whole as the agent tells it.
 * @throws AppError `agent_error`, `unavailable`, `busy`
 */
export async function askForInventory(agent: AgentClient): Promise<JsonObject> {
  const name = 'poll.get_hardware_info';
  const result = await agent.post({ name, params: {} }, { wait: true, timeoutMs });
  const parsed = InventoryDocument.safeParse(result.command_result);
  if (parsed.success) return result.command_result as JsonObject;
  const reason = result.command_error?.details ?? result.command_error?.message;
  throw new AppError('agent_error', `ask the agent for the inventory (${name})${reason ? `: ${reason}` : ''}`, {
    cause: reason ? undefined : parsed.error,
  });
}
