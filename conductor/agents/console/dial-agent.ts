import { WebSocket } from 'ws';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent-session.ts';
import { openAgentToken } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type ConsoleQuery, maxConsoleMessageBytes } from '#shared/wire/console.ts';

const handshakeTimeoutMs = 10_000;

/** Where an agent's consoles are. @throws AppError `not_supported` for an agent without TLS: a root shell in the clear */
export function agentConsoleUrl(session: AgentSessionRow | undefined): string {
  if (!session?.callbackUrl || !session.certificate) {
    if (session?.callbackUrl) throw new AppError('not_supported', 'this agent serves no HTTPS, so it has no console');
    throw new AppError('conflict', 'the node is not in the ramdisk: no agent has called in');
  }
  return `${session.callbackUrl.replace(/^http/, 'ws')}/v1/console`;
}

/**
 * A new shell in the ramdisk, over TLS pinned to the certificate that the agent announced. The socket is paused: nothing
 * is lost before somebody listens.
 * @throws AppError `agent_error` when the agent refuses or does not know consoles (a real ironic-python-agent),
 * `unavailable` when it can't be reached
 */
export function dialAgent(secrets: Secrets, session: AgentSessionRow, query: ConsoleQuery): Promise<WebSocket> {
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
