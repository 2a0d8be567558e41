import { createHash } from 'node:crypto';
import type { Heartbeat } from '#shared/wire/agent-calls.ts';

/** Agents of so many nodes are remembered. */
const mostAgents = 50_000;

/** An agent whose heartbeat was taken. */
export interface KnownAgent {
  readonly nodeUuid: string;
  /** The session's token as it is stored (sealed). */
  readonly token: string;
}

export interface KnownAgents {
  /** Finds the agent whose last heartbeat to this name or UUID was taken and said the same of token, address and certificate. */
  recall(ident: string, heartbeat: Heartbeat): KnownAgent | undefined;
  remember(ident: string, heartbeat: Heartbeat, agent: KnownAgent): void;
  forget(ident: string): void;
}

/**
 * Remembers agents whose heartbeats were taken: one that says the same again need not be read and compared again, since
 * the write of a heartbeat is refused where its session is another by now. No token is kept, but a digest of all that was
 * said.
 */
export function createKnownAgents(): KnownAgents {
  const agents = new Map<string, KnownAgent & { readonly digest: string }>();
  return {
    recall: (ident, heartbeat) => {
      const known = agents.get(ident);
      return known?.digest === digestOf(heartbeat) ? known : undefined;
    },
    remember: (ident, heartbeat, { nodeUuid, token }) => {
      if (agents.size >= mostAgents) agents.clear();
      agents.set(ident, { nodeUuid, token, digest: digestOf(heartbeat) });
    },
    forget: (ident) => void agents.delete(ident),
  };
}

function digestOf({ agent_token, callback_url, agent_verify_ca, agent_version }: Heartbeat): string {
  const said = JSON.stringify([agent_token, callback_url, agent_verify_ca, agent_version]);
  return createHash('sha256').update(said).digest('base64');
}
