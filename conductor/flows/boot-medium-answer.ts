import { createHash } from 'node:crypto';
import { findAgentSession } from '#conductor/agents/agent-session-store.ts';
import type { BootMediumParams } from '#conductor/boot/boot-medium.ts';
import { ramdiskParams } from '#conductor/boot/ipxe-script.ts';
import { staticAddresses } from '#conductor/boot/static-addresses.ts';
import { ramdiskOf } from '#conductor/flows/boot-answer.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { openAgentToken } from '#conductor/kernel/secrets/node-secrets.ts';
import { findNode, isUuid } from '#conductor/nodes/node-store.ts';
import { isSameSecret } from '#shared/is-same-secret.ts';

/** Where the CD of one boot is: nobody can guess it, and it leads nowhere once the boot's token is forgotten. */
export function bootMediumPath(nodeUuid: string, token: string): string {
  return `/media/${nodeUuid}/${createHash('sha256').update(`boot medium ${token}`).digest('base64url')}.iso`;
}

/** Whether the image at this URL is a CD of one of the node's boots. */
export function isBootMediumOf(nodeUuid: string, url: string): boolean {
  return url.includes(`/media/${nodeUuid}/`);
}

/** The kernel parameters on the CD at this path, or `undefined` where there is none. */
export async function bootMediumParams(
  context: Pick<EngineContext, 'db' | 'config' | 'secrets'>,
  { path, nodeUuid }: { readonly path: string; readonly nodeUuid: string },
): Promise<BootMediumParams | undefined> {
  const { db, secrets } = context;
  const session = isUuid(nodeUuid) ? await findAgentSession(db, nodeUuid) : undefined;
  if (!session) return undefined;
  const token = openAgentToken(secrets, session);
  const node = isSameSecret(path, bootMediumPath(nodeUuid, token)) ? await findNode(db, nodeUuid) : undefined;
  if (!node) return undefined;
  return bootMediumParamsOf(context, node, { secrets: [`ipa-agent-token=${token}`] });
}

/** @param boot `mac`: of the card that it was loaded by, to be used where `network_data` names none */
export function bootMediumParamsOf(
  { config, secrets }: Pick<EngineContext, 'config' | 'secrets'>,
  node: NodeRow,
  boot: { readonly secrets: readonly string[]; readonly mac?: string },
): BootMediumParams {
  const addresses = staticAddresses(node.networkData);
  const parameters = ramdiskParams(
    {
      publicUrl: config.boot.url,
      agentApi: { url: config.publicUrl, isInsecure: config.boot.insecureAgents },
      defaultKernelParams: config.kernelParams,
      ...ramdiskOf(secrets, node),
    },
    boot.mac === undefined || addresses.length > 0 ? addresses : [`BOOTIF=${boot.mac}`],
  );
  return { parameters, secrets: boot.secrets };
}
