import { type Agent, request } from 'undici';
import type { z } from 'zod';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent-session.ts';
import { type OutboundRules, outboundAgent } from '#conductor/kernel/outbound-url.ts';
import { openAgentToken } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { AppError } from '#shared/errors/app-error.ts';
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

/** For the whole answer. Commands that the agent runs while we wait take long, looks at its list must not. */
const waitTimeoutMs = 60_000;
const callTimeoutMs = 10_000;
/** A config drive comes back in the results of a real ironic-python-agent. */
const maxAnswerBytes = 128 * 1024 * 1024;

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
      maxResponseSize: maxAnswerBytes,
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
    const timeout = options.timeoutMs ?? (options.wait ? waitTimeoutMs : callTimeoutMs);
    const what = options.body ? `send ${options.body.name} to the agent` : "read the agent's commands";
    const { statusCode, text } = await request(url, {
      dispatcher,
      method: options.body ? 'POST' : 'GET',
      headers: { accept: 'application/json', ...(options.body ? { 'content-type': 'application/json' } : {}) },
      body: options.body ? JSON.stringify(options.body) : null,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
    })
      .then(async (answer) => ({ statusCode: answer.statusCode, text: await answer.body.text() }))
      .catch((cause: unknown) => {
        throw new AppError('unavailable', `${what} at ${callbackUrl}`, { cause });
      });
    return parseAnswer(what, statusCode, text, schema);
  };
  return {
    post: (body, options) => call({ body, ...options }, CommandResult),
    list: async () => (await call({}, CommandList)).commands,
  };
}

function parseAnswer<T>(what: string, status: number, text: string, schema: z.ZodType<T>): T {
  const json = parseJson(text);
  if (status >= 400) {
    const fault = AgentFault.safeParse(json).data?.faultstring ?? text.slice(0, 500);
    const busy = status === 409 || /agent is busy/i.test(fault);
    throw new AppError(busy ? 'busy' : 'agent_error', `${what}: it answered ${status}: ${fault}`);
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw new AppError('agent_error', `${what}: unexpected answer`, { cause: parsed.error });
  return parsed.data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // an answer that is no JSON fails its schema, with the text in the error
  }
}
