import { leadsTo } from '#conductor/agents/agent-address.ts';
import type { AgentsConfig, AgentsContext } from '#conductor/agents/context.ts';
import type { HeartbeatStore } from '#conductor/agents/heartbeat-store.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent-session.ts';
import { openAgentToken } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { recordBootEvent } from '#conductor/nodes/boot-event-store.ts';
import type { Nudging } from '#conductor/nodes/context.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { isSameSecret } from '#shared/is-same-secret.ts';
import { checkOutboundUrl, type OutboundRules } from '#shared/peers/outbound-url.ts';
import type { Heartbeat } from '#shared/wire/heartbeat.ts';

/**
 * `POST /v1/heartbeat/{node}`: stores what the agent says and nudges; the work is done elsewhere. Texts that agents
 * match on are Ironic's (agent-protocol.md §2.3). `source`: the address that it comes from.
 * @throws AppError `not_found` (404) or `invalid_argument` (400, also for a wrong token).
 */
export async function recordHeartbeat(
  context: Pick<AgentsContext, 'config' | 'secrets' | 'db'> & Nudging,
  heartbeats: HeartbeatStore,
  {
    ident,
    heartbeat,
    source,
  }: { readonly ident: string; readonly heartbeat: Heartbeat; readonly source?: string | undefined },
): Promise<void> {
  const { nodeUuid, session: known } = await heartbeats.session(ident);
  const session = checkToken(context.secrets, known, heartbeat.agent_token);
  checkCallback(session, heartbeat, context.config);
  if (context.config.outbound.agentsCallThemselves && !leadsTo(heartbeat.callback_url, source)) {
    throw new AppError(
      'invalid_argument',
      `An issue with the supplied "callback_url" has been detected: it must be at ${source ?? 'your address'}, where you call from (BATON_AGENT_CALLBACK_MUST_MATCH).`,
    );
  }
  const woken = await heartbeats.store({
    nodeUuid,
    token: session.token,
    callbackUrl: heartbeat.callback_url,
    version: heartbeat.agent_version ?? null,
    certificate: heartbeat.agent_verify_ca ?? null,
  });
  if (!session.callbackUrl) {
    await recordBootEvent(context.db, { nodeUuid }, { event: 'heartbeat', conductor: context.config.conductorName });
  }
  if (woken === 'wakes a flow') context.nudge(nodeUuid, 'agent');
}

/** @throws AppError `invalid_argument`: Ironic answers 400, not 401, and agents rely on it. */
export function checkToken(
  secrets: Secrets,
  session: AgentSessionRow | undefined,
  token: string | undefined,
): AgentSessionRow {
  if (!token) throw new AppError('invalid_argument', 'Agent token is required for heartbeat processing.');
  if (!session || !isSameSecret(openAgentToken(secrets, session), token)) {
    throw new AppError('invalid_argument', 'Invalid or missing agent token received.');
  }
  return session;
}

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
    throw new AppError('invalid_argument', 'TLS is required by configuration: callback_url must be an https:// URL.');
  }
  if (session.callbackUrl !== heartbeat.callback_url) requireAllowedCallback(heartbeat, outbound.agents);
  if (session.callbackUrl && session.callbackUrl !== heartbeat.callback_url) {
    throw new AppError('invalid_argument', 'Detected change in ramdisk provided "callback_url"');
  }
  if (session.certificate && heartbeat.agent_verify_ca && session.certificate !== heartbeat.agent_verify_ca) {
    throw new AppError('invalid_argument', 'Detected change in ramdisk provided "agent_verify_ca"');
  }
}

/** In the text that agents know for a callback_url that can't be used. */
function requireAllowedCallback(heartbeat: Heartbeat, rules: OutboundRules): void {
  try {
    checkOutboundUrl('callback_url', heartbeat.callback_url, rules);
  } catch (cause) {
    throw new AppError('invalid_argument', 'An issue with the supplied "callback_url" has been detected', { cause });
  }
}
