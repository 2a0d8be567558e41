import type { ApiClient } from '#agent/api/api-client.ts';
import { faultText } from '#agent/api/fault-text.ts';
import { microversions } from '#agent/api/microversion.ts';
import type { FoundNode } from '#agent/lookup.ts';
import { agentVersion } from '#agent/version.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Heartbeat } from '#shared/wire/agent-calls.ts';

/**
 * Sends one heartbeat (agent-protocol.md §2.3). Fields that the API's version doesn't know are left out.
 * @throws AppError `conflict` (409), `unauthorized` (the token is refused for good), `agent_error` (any other answer
 * than 202), `unavailable`.
 */
export async function sendHeartbeat(
  api: ApiClient,
  node: FoundNode,
  announced: { readonly callbackUrl: string; readonly certificatePem: string | undefined },
): Promise<void> {
  const version = Math.min(node.apiVersion, microversions.heartbeat);
  const body: Heartbeat = {
    callback_url: announced.callbackUrl,
    ...(version >= microversions.agentVersion ? { agent_version: agentVersion } : {}),
    ...(version >= microversions.agentToken && node.token !== undefined ? { agent_token: node.token } : {}),
    ...(version >= microversions.agentVerifyCa && announced.certificatePem !== undefined
      ? { agent_verify_ca: announced.certificatePem }
      : {}),
  };
  const answer = await api.request({ method: 'POST', path: `/v1/heartbeat/${node.uuid}`, version, body });
  if (answer.status === 202) return;
  const fault = faultText(answer);
  const code =
    answer.status === 409
      ? 'conflict'
      : answer.status === 401 || (answer.status === 400 && /agent.?token/i.test(fault))
        ? 'unauthorized'
        : 'agent_error';
  throw new AppError(code, `the conductor refused the heartbeat of node ${node.uuid}: ${fault}`);
}
