import { randomBytes } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { type BootClient, findAgentSession, giveAgentSession } from '#conductor/agents/agent-session-store.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { readRequiredBoot } from '#conductor/flows/read-required-boot.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { nodePlace, openAgentToken } from '#conductor/kernel/secrets/node-secrets.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';
import { getNode } from '#conductor/nodes/node-store.ts';

/**
 * The token of this boot, for the machine whose iPXE loads the ramdisk: once, and until its agent's first heartbeat again
 * to the same network card at the same address, whose transfer may have broken off.
 * @returns kernel parameters, or `undefined` where the machine boots no ramdisk by PXE, or another one has the token
 */
export async function giveBootSecrets(
  context: Pick<EngineContext, 'db' | 'config' | 'secrets' | 'log'>,
  client: BootClient,
): Promise<readonly string[] | undefined> {
  const { db, secrets, log } = context;
  const { mac, source } = client;
  const [port] = await db.select({ nodeUuid: ports.nodeUuid }).from(ports).where(eq(ports.address, mac));
  if (!port) return undefined;
  const node = await getNode(db, port.nodeUuid);
  if (bootsFromVirtualMedia(node) || (await readRequiredBoot(db, node)) !== 'ramdisk') return undefined;
  const token = randomBytes(32).toString('base64url');
  const sealed = secrets.seal(token, nodePlace(node.uuid, 'agent_token'));
  if (await giveAgentSession(db, node.uuid, sealed, client)) {
    await addHistory(db, {
      nodeUuid: node.uuid,
      severity: 'INFO',
      eventType: 'agent',
      event: `${mac}${source === undefined ? '' : ` at ${source}`} has fetched this boot's token`,
      conductor: context.config.conductorName,
    });
    return parameters(token);
  }
  const session = await findAgentSession(db, node.uuid);
  const isSame = session?.bootMac === mac && session.bootSource === (source ?? null);
  if (session && isSame && session.lastHeartbeatAt === null) return parameters(openAgentToken(secrets, session));
  log.warn({ node: node.uuid, mac, source, given: session?.bootSource }, 'boot token refused: it was given out before');
  return undefined;
}

function parameters(token: string): readonly string[] {
  return [`ipa-agent-token=${token}`];
}
