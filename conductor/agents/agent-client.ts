import type { Agent } from 'undici';
import type { z } from 'zod';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent-session.ts';
import { openAgentToken } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { askPeer, type PeerAnswer } from '#shared/peers/ask-peer.ts';
import { type OutboundRules, outboundAgent } from '#shared/peers/outbound-url.ts';
import type { PeerKind } from '#shared/peers/peer-limits.ts';
import { AgentFault, CommandList, type CommandRequest, CommandResult } from '#shared/wire/command.ts';

/** Calls to one agent (agent-protocol.md §4), pinned to the certificate that it announced. */
export interface AgentClient {
  /** @throws AppError `busy` while another command runs, `unavailable` when it does not answer, else `agent_error`. */
  post(
    command: CommandRequest,
    options?: { readonly wait?: boolean; readonly timeoutMs?: number },
  ): Promise<CommandResult>;
  list(): Promise<CommandResult[]>;
}

export interface AgentClients {
  /** @throws AppError `agent_error` when no agent has called in. */
  clientFor(session: AgentSessionRow | undefined, signal: AbortSignal): AgentClient;
  close(): Promise<void>;
}

/** For the whole answer of a command that the agent runs while we wait. */
const waitTimeoutMs = 60_000;

/** Keeps one connection pool per announced certificate, so that a step costs no TLS handshake. */
export function createAgentClients(secrets: Secrets, rules: OutboundRules): AgentClients {
  const pools = new Map<string, { readonly certificate: string | null; readonly pool: Agent }>();
  const poolFor = (session: AgentSessionRow): Agent => {
    const known = pools.get(session.nodeUuid);
    if (known && known.certificate === session.certificate) return known.pool;
    // requests under way on the old boot's pool end by themselves
    if (known) void known.pool.close();
    // a callback_url may have a name, which leads elsewhere by now
    const pool = outboundAgent(rules, {
      keepAliveTimeout: 120_000,
      connect: { timeout: 10_000, ...(session.certificate ? { ca: session.certificate } : {}) },
    });
    pools.set(session.nodeUuid, { certificate: session.certificate, pool });
    return pool;
  };
  return {
    clientFor: (session, signal) => {
      if (!session?.callbackUrl) throw new AppError('agent_error', 'no agent has called in on this node');
      return agentClient(session.callbackUrl, openAgentToken(secrets, session), {
        dispatcher: poolFor(session),
        signal,
      });
    },
    close: async () => {
      await Promise.all([...pools.values()].map(({ pool }) => pool.destroy()));
      pools.clear();
    },
  };
}

function agentClient(
  callbackUrl: string,
  token: string,
  { dispatcher, signal }: { readonly dispatcher: Agent; readonly signal: AbortSignal },
): AgentClient {
  const call = async <T>(
    options: { readonly body?: CommandRequest; readonly wait?: boolean; readonly timeoutMs?: number },
    schema: z.ZodType<T>,
  ): Promise<T> => {
    const url = new URL(`${callbackUrl}/v1/commands/`);
    if (options.body) url.searchParams.set('wait', options.wait ? 'true' : 'false');
    url.searchParams.set('agent_token', token);
    const what = options.body ? `send ${options.body.name} to the agent` : "read the agent's commands";
    const answer = await askPeer(kindOf(options.body?.name), url, {
      who: 'the agent',
      dispatcher,
      method: options.body ? 'POST' : 'GET',
      headers: { accept: 'application/json', ...(options.body ? { 'content-type': 'application/json' } : {}) },
      body: options.body && JSON.stringify(options.body),
      signal,
      timeoutMs: options.timeoutMs ?? (options.wait ? waitTimeoutMs : undefined),
    }).catch((cause: unknown) => {
      const code = cause instanceof AppError ? cause.code : 'unavailable';
      throw new AppError(code, `${what} at ${callbackUrl}`, { cause });
    });
    return parseAnswer(what, answer, schema);
  };
  return {
    post: (body, options) => call({ body, ...options }, CommandResult),
    list: async () => (await call({}, CommandList)).commands,
  };
}

function kindOf(command: string | undefined): PeerKind {
  if (command === 'poll.get_hardware_info') return 'inventory';
  return command !== undefined && /^[a-z]+\.get_[a-z]+_steps$/.test(command) ? 'agentSteps' : 'agentCommands';
}

const maxFaultCharacters = 500;

/** What is no fault of an agent's is not repeated: a callback_url may lead to a server that is none. */
function parseAnswer<T>(what: string, { status, body }: PeerAnswer, schema: z.ZodType<T>): T {
  if (status >= 400) {
    const fault = AgentFault.safeParse(body).data?.faultstring.slice(0, maxFaultCharacters) ?? '';
    const busy = status === 409 || /agent is busy/i.test(fault);
    throw new AppError(busy ? 'busy' : 'agent_error', `${what}: it answered ${status}${fault && `: ${fault}`}`);
  }
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw new AppError('agent_error', `${what}: unexpected answer`, { cause: parsed.error });
  return parsed.data;
}
