import type { AgentClient } from '#conductor/agents/agent-client.ts';
import { callAgent } from '#conductor/agents/ask-agent.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { TpmQuote } from '#shared/wire/attestation.ts';

/**
 * Asks the agent for a quote of its machine's TPM over 32 bytes, which the caller verifies.
 * @throws AppError `agent_error` (trouble with the TPM, an older agent, an answer of another form), `unavailable`, `busy`
 */
export async function askForQuote(agent: AgentClient, nonce: Buffer): Promise<TpmQuote> {
  const doing = "have the machine's TPM sign";
  const parsed = TpmQuote.safeParse(await callAgent(agent, doing, 'tpm.quote', { nonce: nonce.toString('hex') }));
  if (parsed.success) return parsed.data;
  throw new AppError('agent_error', `${doing}: the answer does not have the form of a quote`, { cause: parsed.error });
}
