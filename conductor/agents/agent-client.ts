import type { Agent } from 'undici';
import type { z } from 'zod';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import { openAgentToken } from '#conductor/kernel/secrets/node-secrets.ts';
import { looksSealed, type Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { isSecretName } from '#conductor/model/secret-names.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { askPeer, type PeerAnswer } from '#shared/peers/ask-peer.ts';
import { type OutboundRules, outboundAgent } from '#shared/peers/outbound-url.ts';
import type { PeerKind } from '#shared/peers/peer-limits.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';
import { AgentFault, CommandList, type CommandRequest, CommandResult } from '#shared/wire/agent-calls.ts';

/** Beside those that begin with `agent_`, as in Ironic's documents. */
const otherKeys: ReadonlySet<string> = new Set(['disk_erasure_concurrency', 'wipe_special_filesystems']);
/** Names of fields of a BMC's account, beside those that are secret everywhere. */
const accountName = /username|verify_ca/i;

/**
 * Selects the fields of `driver_info` that in-band steps read: `agent_burnin_cpu_timeout`,
 * `agent_erase_devices_iterations` and the like. A BMC's address and password are none of the machine's business, and
 * no secret leaves: not by its key's name at any depth, not as a login in a URL.
 */
export function agentSettings(driverInfo: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(driverInfo).filter(
      ([key, value]) => (key.startsWith('agent_') || otherKeys.has(key)) && !holdsSecret(key, value),
    ),
  );
}

/**
 * Builds `instance_info` for commands, from which in-band steps read hints and capabilities: without passwords, config
 * drive, and URLs with a login. What writes an image is given those by its own argument, `image_info`.
 */
export function agentInstanceInfo(instanceInfo: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(instanceInfo).filter(([key, value]) => !holdsSecret(key, value)));
}

function holdsSecret(key: string, value: unknown): boolean {
  if (isSecretName(key) || accountName.test(key)) return true;
  if (typeof value === 'string') return looksSealed(value) || maskUrlLogins(value) !== value;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([inner, each]) => holdsSecret(inner, each));
}

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
  /** Number of agents whose connections are kept. */
  kept(): number;
  close(): Promise<void>;
}

/** For the whole answer of a command that the agent runs while we wait. */
const waitTimeoutMs = 60_000;

const keepAliveMs = 120_000;

interface AgentPool {
  readonly certificate: string | null;
  readonly pool: Agent;
  readonly usedAt: number;
}

/**
 * Keeps one connection pool per announced certificate, so that a step costs no TLS handshake, for as long as its connections
 * stay: a fleet is deployed once, and its nodes are deleted one day.
 * @param nowMs a steady clock
 */
export function createAgentClients(
  secrets: Secrets,
  rules: OutboundRules,
  nowMs: () => number = () => performance.now(),
): AgentClients {
  /** The longest unused first. */
  const pools = new Map<string, AgentPool>();
  const forgetUnused = (): void => {
    for (const [nodeUuid, { pool, usedAt }] of pools) {
      if (nowMs() - usedAt <= keepAliveMs) return;
      pools.delete(nodeUuid);
      void pool.close();
    }
  };
  const poolFor = (session: AgentSessionRow): Agent => {
    const known = pools.get(session.nodeUuid);
    pools.delete(session.nodeUuid);
    const pool = known?.certificate === session.certificate ? known.pool : newPool(session, known);
    pools.set(session.nodeUuid, { certificate: session.certificate, pool, usedAt: nowMs() });
    forgetUnused();
    return pool;
  };
  const newPool = (session: AgentSessionRow, known: AgentPool | undefined): Agent => {
    // requests under way on the old boot's pool end by themselves
    if (known) void known.pool.close();
    // a callback_url may have a name, which leads elsewhere by now
    return outboundAgent(rules, {
      keepAliveTimeout: keepAliveMs,
      connect: { timeout: 10_000, ...(session.certificate ? { ca: session.certificate } : {}) },
    });
  };
  return {
    clientFor: (session, signal) => {
      if (!session?.callbackUrl)
        throw new AppError('agent_error', 'no agent has called in on this node', { situation: 'agent_missing' });
      return agentClient(session.callbackUrl, openAgentToken(secrets, session), {
        pool: () => poolFor(session),
        signal,
      });
    },
    kept: () => pools.size,
    close: async () => {
      await Promise.all([...pools.values()].map(({ pool }) => pool.destroy()));
      pools.clear();
    },
  };
}

function agentClient(
  callbackUrl: string,
  token: string,
  { pool, signal }: { readonly pool: () => Agent; readonly signal: AbortSignal },
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
      dispatcher: pool(),
      method: options.body ? 'POST' : 'GET',
      headers: { accept: 'application/json', ...(options.body ? { 'content-type': 'application/json' } : {}) },
      body: options.body && JSON.stringify(options.body),
      signal,
      timeoutMs: options.timeoutMs ?? (options.wait ? waitTimeoutMs : undefined),
    }).catch((cause: unknown) => {
      const code = cause instanceof AppError ? cause.code : 'unavailable';
      const situation = code === 'unavailable' || code === 'timeout' ? 'agent_silent' : 'agent_answer';
      throw new AppError(code, `${what} at ${callbackUrl}`, { cause, situation });
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

/** Two texts that every release of ironic-python-agent has, whichever library serves it. */
const missingExtension = /\bextension with id (\S+) not found/i;
const missingCommand = /\bunknown command: (\S+)/i;

function lacksOf(status: number, fault: string): string | undefined {
  const pattern = status === 404 ? missingExtension : status === 400 ? missingCommand : undefined;
  return pattern?.exec(fault)?.[1];
}

/** Returns whether an agent has refused a command because it has no such extension, or no such command in it. */
export function saysItLacks(error: unknown, name: string): boolean {
  return error instanceof AppError && error.details['lacks'] === name;
}

/** An answer that says neither that the command runs nor that it was refused. */
const unclear = { mayBeUnderWay: true };

/**
 * Parses an agent's answer. One that is no fault of an agent's is not repeated: a callback_url may lead to a server
 * that is none.
 */
function parseAnswer<T>(what: string, { status, body }: PeerAnswer, schema: z.ZodType<T>): T {
  if (status >= 400) {
    const reported = AgentFault.safeParse(body).data?.faultstring;
    const fault = reported?.slice(0, maxFaultCharacters) ?? '';
    const busy = status === 409 || /agent is busy/i.test(fault);
    const lacks = lacksOf(status, fault);
    throw new AppError(busy ? 'busy' : 'agent_error', `${what}: it answered ${status}${fault && `: ${fault}`}`, {
      situation: 'agent_answer',
      details: { ...(lacks === undefined ? {} : { lacks }), ...(reported === undefined ? unclear : {}) },
    });
  }
  if (body === undefined)
    throw new AppError('agent_error', `${what}: unexpected answer: ${status}, not in JSON`, {
      details: unclear,
      situation: 'agent_answer',
    });
  const parsed = schema.safeParse(body);
  if (!parsed.success)
    throw new AppError('agent_error', `${what}: unexpected answer`, {
      cause: parsed.error,
      details: unclear,
      situation: 'agent_answer',
    });
  return parsed.data;
}
