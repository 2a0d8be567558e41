import { isIPv6 } from 'node:net';
import { and, eq, inArray } from 'drizzle-orm';
import { getAgentSession } from '#conductor/agents/agent-session-store.ts';
import type { AgentsConfig, AgentsContext } from '#conductor/agents/context.ts';
import type { AgentContact, HeartbeatStore } from '#conductor/agents/heartbeat-store.ts';
import type { KnownAgents } from '#conductor/agents/known-agents.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { openAgentToken } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { recordBootEvent } from '#conductor/nodes/boot/boot-event-store.ts';
import type { Nudging } from '#conductor/nodes/context.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import { isSameSecret } from '#shared/is-same-secret.ts';
import { literalAddress, plainAddress } from '#shared/peers/address-ranges.ts';
import { checkOutboundUrl, type OutboundRules } from '#shared/peers/outbound-url.ts';
import type { Heartbeat } from '#shared/wire/agent-calls.ts';
import type { ProgressReport } from '#shared/wire/progress.ts';

/**
 * Returns whether machines that boot, and their agents, may call from this address: anyone who knows a MAC address could
 * otherwise take a boot's token before the machine itself does.
 * @param address `undefined` = not known.
 */
export function isAgentAddress({ allow }: Pick<OutboundRules, 'allow'>, address: string | undefined): boolean {
  if (!allow) return true;
  return address !== undefined && allow.ranges.has(plainAddress(address));
}

/** Returns whether an agent that calls from this address asks to be called back at it. */
export function leadsTo(callbackUrl: string, address: string | undefined): boolean {
  const host = URL.parse(callbackUrl)?.hostname;
  const called = host === undefined ? undefined : literalAddress(host);
  return called !== undefined && address !== undefined && canonical(called) === canonical(address);
}

function canonical(address: string): string {
  const [plain = ''] = plainAddress(address).split('%');
  return isIPv6(plain) ? new URL(`http://[${plain}]`).hostname : plain;
}

/**
 * Serves `POST /v1/heartbeat/{node}`: stores what the agent says and nudges; the work is done elsewhere. Texts that agents
 * match on are Ironic's (agent-protocol.md §2.3). `source`: the address that it comes from.
 * @throws AppError `not_found` (404) or `invalid_argument` (400, also for a wrong token).
 */
export async function recordHeartbeat(
  context: HeartbeatContext,
  memory: AgentMemory,
  given: GivenHeartbeat,
): Promise<void> {
  const { nodeUuid, woken } =
    (await storeKnown(context, memory, given)) ?? (await storeChecked(context, memory, given));
  if (woken === 'wakes a flow') context.nudge(nodeUuid, 'agent');
}

type HeartbeatContext = Pick<AgentsContext, 'config' | 'secrets' | 'db'> & Nudging;

/** The database's side of heartbeats, and agents that are known to this process. */
export interface AgentMemory {
  readonly heartbeats: HeartbeatStore;
  readonly known: KnownAgents;
}

interface GivenHeartbeat {
  readonly ident: string;
  readonly heartbeat: Heartbeat;
  readonly source?: string | undefined;
}

interface StoredHeartbeat {
  readonly nodeUuid: string;
  readonly woken: Awaited<ReturnType<HeartbeatStore['store']>>;
}

/** Stores the heartbeat of an agent that says what it said before; `undefined` where it does not, or its session is another by now. */
async function storeKnown(
  { config }: HeartbeatContext,
  { heartbeats, known }: AgentMemory,
  { ident, heartbeat, source }: GivenHeartbeat,
): Promise<StoredHeartbeat | undefined> {
  const agent = known.recall(ident, heartbeat);
  if (!agent || !mayCallFrom(config, heartbeat, source)) return undefined;
  const { nodeUuid } = agent;
  try {
    return { nodeUuid, woken: await heartbeats.store({ ...contactOf(heartbeat), ...agent, certificate: null }) };
  } catch (error) {
    known.forget(ident);
    if (errorCode(error) !== 'invalid_argument') throw error;
    return undefined;
  }
}

/** Compares all that the agent says with its session. */
async function storeChecked(
  context: HeartbeatContext,
  { heartbeats, known }: AgentMemory,
  { ident, heartbeat, source }: GivenHeartbeat,
): Promise<StoredHeartbeat> {
  const { nodeUuid, session: stored } = await heartbeats.session(ident);
  const session = checkToken(context.secrets, stored, heartbeat.agent_token);
  checkCallback(session, heartbeat, context.config);
  if (!mayCallFrom(context.config, heartbeat, source)) {
    throw new AppError(
      'invalid_argument',
      `An issue with the supplied "callback_url" has been detected: it must be at ${source ?? 'your address'}, where you call from (BATON_AGENT_CALLBACK_MUST_MATCH).`,
      { details: { advice: 'Behind NAT or a relay set BATON_AGENT_CALLBACK_MUST_MATCH=false.' } },
    );
  }
  const woken = await heartbeats.store({
    ...contactOf(heartbeat),
    nodeUuid,
    token: session.token,
    // the one that is stored is the same
    certificate: session.certificate ? null : (heartbeat.agent_verify_ca ?? null),
  });
  known.remember(ident, heartbeat, { nodeUuid, token: session.token });
  if (!session.callbackUrl) {
    await recordBootEvent(context.db, { nodeUuid }, { event: 'heartbeat', conductor: context.config.conductorName });
  }
  return { nodeUuid, woken };
}

function mayCallFrom(
  { outbound }: HeartbeatContext['config'],
  { callback_url }: Heartbeat,
  source: string | undefined,
): boolean {
  return !outbound.agentsCallThemselves || leadsTo(callback_url, source);
}

function contactOf({ callback_url, agent_version }: Heartbeat): Pick<AgentContact, 'callbackUrl' | 'version'> {
  return { callbackUrl: callback_url, version: agent_version ?? null };
}

/** @throws AppError `invalid_argument`: Ironic answers 400, not 401, and agents rely on it. */
export function checkToken(
  secrets: Secrets,
  session: AgentSessionRow | undefined,
  token: string | undefined,
): AgentSessionRow {
  if (!token) throw new AppError('invalid_argument', 'Agent token is required for heartbeat processing.');
  if (!session || !isSameSecret(openAgentToken(secrets, session), token)) {
    throw new AppError('invalid_argument', 'Invalid or missing agent token received.', {
      details: {
        advice: 'A ramdisk of an earlier boot still runs, or a stranger calls: power the machine off and on.',
      },
    });
  }
  return session;
}

const twoRamdisks = {
  advice:
    'Its address or certificate has changed since it looked itself up, or two machines run as this node: look at both.',
};

function checkCallback(
  session: AgentSessionRow,
  heartbeat: Heartbeat,
  { outbound, requireAgentTls }: Pick<AgentsConfig, 'outbound' | 'requireAgentTls'>,
): void {
  if (!heartbeat.agent_version) {
    throw new AppError(
      'invalid_argument',
      'Agent did not transmit a version, and a version is required. Please update the agent being used.',
    );
  }
  if (!/^https?:\/\/\S+$/.test(heartbeat.callback_url) || !URL.canParse(heartbeat.callback_url)) {
    throw new AppError(
      'invalid_argument',
      'An issue with the supplied "callback_url" has been detected: it must be an http:// or https:// URL.',
    );
  }
  if (requireAgentTls && !heartbeat.callback_url.startsWith('https://')) {
    throw new AppError('invalid_argument', 'TLS is required by configuration: callback_url must be an https:// URL.', {
      details: { advice: 'Boot a ramdisk whose agent has TLS, or set BATON_REQUIRE_AGENT_TLS=false.' },
    });
  }
  if (session.callbackUrl !== heartbeat.callback_url) requireAllowedCallback(heartbeat, outbound.agents);
  if (session.callbackUrl && session.callbackUrl !== heartbeat.callback_url) {
    throw new AppError('invalid_argument', 'Detected change in ramdisk provided "callback_url"', {
      details: twoRamdisks,
    });
  }
  if (session.certificate && heartbeat.agent_verify_ca && session.certificate !== heartbeat.agent_verify_ca) {
    throw new AppError('invalid_argument', 'Detected change in ramdisk provided "agent_verify_ca"', {
      details: twoRamdisks,
    });
  }
}

/** Refuses a callback_url that can't be used, in the words that agents know. */
function requireAllowedCallback(heartbeat: Heartbeat, rules: OutboundRules): void {
  try {
    checkOutboundUrl('callback_url', heartbeat.callback_url, rules);
  } catch (cause) {
    throw new AppError('invalid_argument', 'An issue with the supplied "callback_url" has been detected', { cause });
  }
}

/**
 * Serves `POST /v1/progress/{node}` (Baton's own): shown to the operator, nothing is decided from it.
 * @throws AppError `not_found`, `invalid_argument`.
 */
export async function recordProgress(
  context: Pick<AgentsContext, 'db' | 'secrets'>,
  ident: string,
  report: ProgressReport,
): Promise<void> {
  const { nodeUuid, session } = await getAgentSession(context.db, ident);
  checkToken(context.secrets, session, report.agent_token);
  if (!isUuid(report.command_id)) throw new AppError('invalid_argument', 'command_id must be a UUID.');
  const flowsOfNode = context.db.select({ uuid: flows.uuid }).from(flows).where(eq(flows.nodeUuid, nodeUuid));
  await context.db
    .update(flowSteps)
    .set({ progress: report.progress })
    .where(
      and(
        eq(flowSteps.uuid, report.command_id),
        inArray(flowSteps.state, ['running', 'waiting']),
        inArray(flowSteps.flowUuid, flowsOfNode),
      ),
    );
}
