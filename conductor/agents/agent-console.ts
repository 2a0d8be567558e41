import { and, eq, inArray, isNull } from 'drizzle-orm';
import { WebSocket } from 'ws';
import { findAgentSession } from '#conductor/agents/agent-session-store.ts';
import type { ConsoleRequest, ConsoleSource } from '#conductor/agents/consoles.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { openAgentToken } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { closeSocket, keepAlive, passMessages } from '#shared/web-socket/web-socket.ts';
import { type ConsoleQuery, maxConsoleMessageBytes } from '#shared/wire/console.ts';

const handshakeTimeoutMs = 10_000;

/**
 * Returns the URL of an agent's consoles.
 * @throws AppError `not_supported` for an agent without TLS, whose root shell would be in the clear
 */
function agentConsoleUrl(session: AgentSessionRow | undefined): string {
  if (!session?.callbackUrl || !session.certificate) {
    if (session?.callbackUrl) throw new AppError('not_supported', 'this agent serves no HTTPS, so it has no console');
    throw new AppError('conflict', 'the node is not in the ramdisk: no agent has called in');
  }
  return `${session.callbackUrl.replace(/^http/, 'ws')}/v1/console`;
}

/**
 * Opens a new shell in the ramdisk, over TLS pinned to the certificate that the agent announced. The socket is paused:
 * nothing is lost before somebody listens.
 * @throws AppError `agent_error` when the agent refuses or does not know consoles (a real ironic-python-agent),
 * `unavailable` when it can't be reached
 */
function dialAgent(secrets: Secrets, session: AgentSessionRow, query: ConsoleQuery): Promise<WebSocket> {
  const url = new URL(agentConsoleUrl(session));
  url.searchParams.set('agent_token', openAgentToken(secrets, session));
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, {
      ca: session.certificate ?? [],
      handshakeTimeout: handshakeTimeoutMs,
      maxPayload: maxConsoleMessageBytes,
      perMessageDeflate: false,
    });
    const what = `open a console at ${session.callbackUrl}`;
    socket.once('open', () => {
      socket.pause();
      resolve(socket);
    });
    socket.once('unexpected-response', (request, response) => {
      request.destroy();
      const hint = response.statusCode === 404 ? ': this agent has no consoles' : '';
      reject(new AppError('agent_error', `${what}: it answered ${response.statusCode}${hint}`));
    });
    // before the handshake this is all there will be; later ones precede a `close`, which is acted upon
    socket.on('error', (cause) => reject(new AppError('unavailable', what, { cause })));
  });
}

/** During what a console is opened: it ends with it. */
export interface ConsoleOccasion {
  /** The ramdisk's boot; `undefined` when the machine has left the ramdisk. */
  readonly session: AgentSessionRow | undefined;
  /** The flow under way, and the step that it runs or waits in. */
  readonly flowUuid: string | undefined;
  readonly stepUuid: string | undefined;
  /** `deploy.write_image` */
  readonly stepName: string | undefined;
}

async function readConsoleOccasion(db: Queryable, nodeUuid: string): Promise<ConsoleOccasion> {
  const session = await findAgentSession(db, nodeUuid);
  const [flow] = await db
    .select({ uuid: flows.uuid })
    .from(flows)
    .where(and(eq(flows.nodeUuid, nodeUuid), isNull(flows.endedAt)));
  const [step] = flow
    ? await db
        .select({
          uuid: flowSteps.uuid,
          interface: flowSteps.interface,
          step: flowSteps.step,
          plugin: flowSteps.plugin,
        })
        .from(flowSteps)
        .where(and(eq(flowSteps.flowUuid, flow.uuid), inArray(flowSteps.state, ['running', 'waiting'])))
    : [];
  return {
    session,
    flowUuid: flow?.uuid,
    stepUuid: step?.uuid,
    stepName: step && stepTitle(step),
  };
}

/**
 * Explains why a console that was opened at one occasion has to end at another; `undefined` while it may stay. A person at a
 * shell and a step that begins would work on the same disks without knowing of each other.
 */
export function whyOver(opened: ConsoleOccasion, now: ConsoleOccasion): string | undefined {
  if (!now.session) return 'the machine leaves the ramdisk';
  // its token may have been sealed with another key meanwhile
  if (now.session.createdAt.getTime() !== opened.session?.createdAt.getTime()) return 'the machine has rebooted';
  if (now.flowUuid !== undefined && now.flowUuid !== opened.flowUuid) return 'a flow begins';
  if (now.flowUuid !== opened.flowUuid) return 'the flow has ended';
  if (now.stepUuid === opened.stepUuid) return undefined;
  return now.stepName === undefined ? `step ${opened.stepName} has ended` : `step ${now.stepName} begins`;
}

/**
 * Returns a new shell in the node's ramdisk, until the flow moves on.
 * @throws AppError `conflict` while no agent runs, `not_supported`
 */
export async function agentConsole(
  { db, secrets }: { readonly db: Queryable; readonly secrets: Secrets },
  nodeUuid: string,
  query: ConsoleQuery,
): Promise<Pick<ConsoleRequest, 'open' | 'during' | 'whyOver'>> {
  const occasion = await readConsoleOccasion(db, nodeUuid);
  agentConsoleUrl(occasion.session);
  return {
    during: occasion.stepName,
    open: async () => {
      if (!occasion.session) throw new AppError('internal', 'a console was admitted without an agent');
      return agentEnd(await dialAgent(secrets, occasion.session, query));
    },
    whyOver: async () => whyOver(occasion, await readConsoleOccasion(db, nodeUuid)),
  };
}

function agentEnd(agent: Awaited<ReturnType<typeof dialAgent>>): ConsoleSource {
  return {
    ended: new Promise((resolve) => {
      const otherwise = 'the connection to the agent was lost';
      if (agent.readyState === agent.CLOSED) resolve(otherwise);
      else agent.once('close', (_code, reason) => resolve(reason.toString() || otherwise));
    }),
    join: (operator) => {
      keepAlive(agent);
      passMessages(operator, agent);
      passMessages(agent, operator);
      agent.resume();
    },
    close: (reason) => closeSocket(agent, 1000, reason),
  };
}
