import { createHash, randomBytes } from 'node:crypto';
import { type BootClient, findAgentSession, giveAgentSession } from '#conductor/agents/agent-session-store.ts';
import type { BootMediumParams } from '#conductor/boot/boot-medium.ts';
import type { BootAnswer } from '#conductor/boot/ipxe-script.ts';
import { requiredBoot } from '#conductor/boot/required-boot.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { findOpenFlow, listSteps } from '#conductor/flows/log/flow-store.ts';
import { bootMediumParamsOf, bootSecrets, ramdiskOf } from '#conductor/flows/network/ramdisk-params.ts';
import { readServedBoot } from '#conductor/flows/network/served-boot.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { nodePlace, openAgentToken, openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { bootModeOf } from '#conductor/nodes/boot/boot-mode.ts';
import { nodeRamdisk } from '#conductor/nodes/boot/ramdisk-boot.ts';
import { ramdiskInstance, runsFromRamdisk } from '#conductor/nodes/boot/ramdisk-instance.ts';
import { addStrangersHistory } from '#conductor/nodes/node-history.ts';
import { bootsByHttp, bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';
import { findNode, isUuid } from '#conductor/nodes/node-store.ts';
import { findNodeByAddresses } from '#conductor/nodes/ports/port-store.ts';
import { bootVolume, findBootVolume, listNodeConnectors, openTarget } from '#conductor/nodes/resources/volume.ts';
import { isSameSecret } from '#shared/is-same-secret.ts';

/** Reads whose machine it is now: the conductor's, which boots the ramdisk, or the instance's. */
export async function readRequiredBoot(
  db: Queryable,
  node: Pick<NodeRow, 'uuid' | 'provisionState'>,
): Promise<'ramdisk' | 'local disk'> {
  const flow = await findOpenFlow(db, node.uuid);
  const steps = flow ? await listSteps(db, flow.uuid) : [];
  const current = steps.find((step) => step.state === 'running' || step.state === 'waiting');
  return requiredBoot({
    provisionState: node.provisionState,
    currentStep: current && `${current.interface}.${current.step}`,
  });
}

/** Answers what the machine with this MAC address (lower-case) is to boot now. */
export async function answerBoot(
  context: Pick<EngineContext, 'db' | 'config' | 'secrets'>,
  mac: string,
): Promise<BootAnswer> {
  const { db } = context;
  const node = await findNodeByAddresses(db, [mac]);
  if (!node) return { kind: 'unknown' };
  const nodeName = node.name ?? node.uuid;
  if ((await readRequiredBoot(db, node)) === 'local disk') {
    if (bootsInstance(node)) {
      return { kind: 'instance', nodeName, instance: ramdiskInstance(openImage(context.secrets, node)) };
    }
    const target = await findBootVolume(db, node.uuid);
    if (target) {
      const connectors = await listNodeConnectors(db, node.uuid);
      return { kind: 'volume', volume: bootVolume(openTarget(context.secrets, target), connectors), nodeName };
    }
    return { kind: 'local disk', bootMode: bootModeOf(node), nodeName };
  }
  const own = nodeRamdisk(context, node);
  const fetchesToken = !bootsFromVirtualMedia(node) && own === undefined;
  const flow = await findOpenFlow(db, node.uuid);
  // a medium's command line is measured, and the same at each look
  const globalRequestId = flow?.globalRequestId ?? flow?.requestId;
  return {
    kind: 'ramdisk',
    nodeName,
    fetchesToken,
    globalRequestId,
    ...(own ? { own } : {}),
    ...ramdiskOf(context.secrets, node),
  };
}

/** States in which what the machine boots by itself is its instance. */
const instanceStates: ReadonlySet<ProvisionState> = new Set<ProvisionState>([
  'deploying',
  'active',
  'rescue failed',
  'unrescuing',
  'unrescue failed',
  'servicing',
  'service failed',
]);

/** Its instance is not a disk, and runs or is about to. */
function bootsInstance(node: NodeRow): boolean {
  return runsFromRamdisk(node) && instanceStates.has(node.provisionState);
}

/** Only what is booted: anybody on the network may ask. Its URLs have no logins (`ramdiskInstance`). */
function openImage(secrets: Secrets, node: NodeRow): NodeRow {
  const booted = ['boot_iso', 'kernel', 'ramdisk', 'kernel_append_params', 'ramdisk_kernel_arguments'];
  const instanceInfo = Object.fromEntries(Object.entries(node.instanceInfo).filter(([key]) => booted.includes(key)));
  return { ...node, instanceInfo: openNodeDocument(secrets, { ...node, instanceInfo }, 'instanceInfo') };
}

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
  const node = await findNodeByAddresses(db, [mac]);
  if (!node || bootsFromVirtualMedia(node) || (await readRequiredBoot(db, node)) !== 'ramdisk') return undefined;
  const token = randomBytes(32).toString('base64url');
  const sealed = secrets.seal(token, nodePlace(node.uuid, 'agent_token'));
  if (await giveAgentSession(db, node.uuid, sealed, client)) {
    await addStrangersHistory(db, {
      nodeUuid: node.uuid,
      eventType: 'agent',
      event: `${mac}${source === undefined ? '' : ` at ${source}`} has fetched this boot's token`,
      conductor: context.config.conductorName,
    });
    return bootSecrets(context.config, node, token);
  }
  const session = await findAgentSession(db, node.uuid);
  const isSame = session?.bootMac === mac && session.bootSource === (source ?? null);
  if (session && isSame && session.lastHeartbeatAt === null)
    return bootSecrets(context.config, node, openAgentToken(secrets, session));
  log.warn({ node: node.uuid, mac, source, given: session?.bootSource }, 'boot token refused: it was given out before');
  return undefined;
}

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
  return (await readServedBoot(context, node, session)).params;
}

/** Answer to firmware that boots by HTTP: this node's ramdisk as an ISO, nothing (its next boot device), or iPXE. */
export type HttpBootAnswer =
  | { readonly kind: 'ramdisk'; readonly params: BootMediumParams }
  | { readonly kind: 'local disk' }
  | { readonly kind: 'iPXE' };

/** For nodes with `boot_interface` `http`; the boot's token goes to the first request, as with iPXE. */
export async function answerHttpBoot(
  context: Pick<EngineContext, 'db' | 'config' | 'secrets' | 'log'>,
  client: BootClient,
): Promise<HttpBootAnswer> {
  const { db } = context;
  const node = await findNodeByAddresses(db, [client.mac]);
  if (!node || !bootsByHttp(node)) return { kind: 'iPXE' };
  // an instance without a disk is booted by iPXE's script
  if ((await readRequiredBoot(db, node)) === 'local disk') return { kind: bootsInstance(node) ? 'iPXE' : 'local disk' };
  const secrets = await giveBootSecrets(context, client);
  const session = secrets && (await findAgentSession(db, node.uuid));
  const params = session
    ? (await readServedBoot(context, node, session)).params
    : bootMediumParamsOf(context, node, { secrets: secrets ?? [], mac: client.mac });
  return { kind: 'ramdisk', params };
}
