import { eq } from 'drizzle-orm';
import type { BootAnswer } from '#conductor/boot/ipxe-script.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { readRequiredBoot } from '#conductor/flows/read-required-boot.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { bootModeOf } from '#conductor/nodes/boot-mode.ts';
import { bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { ramdiskInstance, runsFromRamdisk } from '#conductor/nodes/ramdisk-instance.ts';
import { bootVolume } from '#conductor/nodes/volumes/boot-volume.ts';
import { openTarget } from '#conductor/nodes/volumes/target-secrets.ts';
import { findBootVolume, listNodeConnectors } from '#conductor/nodes/volumes/volume-store.ts';

/** What the machine with this MAC address (lower-case) is to boot now. */
export async function answerBoot(
  context: Pick<EngineContext, 'db' | 'config' | 'secrets'>,
  mac: string,
): Promise<BootAnswer> {
  const { db } = context;
  const [port] = await db.select({ nodeUuid: ports.nodeUuid }).from(ports).where(eq(ports.address, mac));
  if (!port) return { kind: 'unknown' };
  const node = await getNode(db, port.nodeUuid);
  const nodeName = node.name ?? node.uuid;
  if ((await readRequiredBoot(db, node)) === 'local disk') {
    if (runsFromRamdisk(node) && instanceStates.has(node.provisionState)) {
      return { kind: 'instance', nodeName, instance: ramdiskInstance(openImage(context.secrets, node)) };
    }
    const target = await findBootVolume(db, node.uuid);
    if (target) {
      const connectors = await listNodeConnectors(db, node.uuid);
      return { kind: 'volume', volume: bootVolume(openTarget(context.secrets, target), connectors), nodeName };
    }
    return { kind: 'local disk', bootMode: bootModeOf(node), nodeName };
  }
  const fetchesToken = !bootsFromVirtualMedia(node);
  return { kind: 'ramdisk', nodeName, fetchesToken, ...ramdiskOf(context.secrets, node) };
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

/** Only what is booted: anybody on the network may ask. Its URLs have no logins (`ramdiskInstance`). */
function openImage(secrets: Secrets, node: NodeRow): NodeRow {
  const booted = ['boot_iso', 'kernel', 'ramdisk', 'kernel_append_params', 'ramdisk_kernel_arguments'];
  const instanceInfo = Object.fromEntries(Object.entries(node.instanceInfo).filter(([key]) => booted.includes(key)));
  return { ...node, instanceInfo: openNodeDocument(secrets, { ...node, instanceInfo }, 'instanceInfo') };
}

/** What the node's ramdisk is to be told on its command line. */
export function ramdiskOf(
  secrets: Secrets,
  node: NodeRow,
): { readonly inspects: boolean; readonly kernelParams?: string } {
  const inspects = node.provisionState === 'inspecting' || node.provisionState === 'inspect wait';
  // the one text of driver_info that a machine is told
  const text = node.driverInfo['kernel_append_params'];
  const own = openNodeDocument(secrets, { ...node, driverInfo: { kernel_append_params: text } }, 'driverInfo')[
    'kernel_append_params'
  ];
  return { inspects, ...(typeof own === 'string' ? { kernelParams: own } : {}) };
}
