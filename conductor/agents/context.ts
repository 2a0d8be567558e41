import type { AgentClients } from '#conductor/agents/agent-client.ts';
import type { NodesConfig, NodesContext } from '#conductor/nodes/context.ts';
import type { OutboundConfig } from '#shared/peers/outbound-url.ts';

/** Values of `BATON_CONSOLE`. */
export const consoleAccess = ['false', 'loopback', 'true'] as const;
type ConsoleAccess = (typeof consoleAccess)[number];

export interface AgentsConfig extends NodesConfig {
  /** Address to listen on. */
  readonly host: string;
  readonly console: ConsoleAccess;
  readonly requireAgentTls: boolean;
  /** Whether agents share images with each other. */
  readonly imageNeighbours: boolean;
  readonly outbound: OutboundConfig;
}

/** Means that work with agents may use beyond those of work on nodes. */
export interface AgentsContext extends NodesContext {
  readonly config: AgentsConfig;
  readonly agents: AgentClients;
}
