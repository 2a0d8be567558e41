import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { openUrl } from '#conductor/nodes/boot/ramdisk-instance.ts';
import type { NodesConfig } from '#conductor/nodes/context.ts';
import { bootsByHttp, bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Returns how a machine that is on comes into the ramdisk: through its firmware, or by kexec from a system that cooperates.
 * That system's word moves its ports to the ramdisk's network, so that `instance_info`, which lessees write, has no say.
 * @throws AppError `invalid_argument` for another value
 */
export function ramdiskBootOf({ driverInfo }: Pick<NodeRow, 'driverInfo'>): 'power' | 'kexec' {
  const value = driverInfo['ramdisk_boot'] ?? 'power';
  if (value === 'power' || value === 'kexec') return value;
  throw new AppError('invalid_argument', 'driver_info.ramdisk_boot: it must be power or kexec');
}

/**
 * Returns whether the node keeps its ramdisk running between flows: the conductor's setting, or `driver_info.fast_track`.
 * @throws AppError `invalid_argument` for a value that is neither true nor false.
 */
export function isFastTracked(config: Pick<NodesConfig, 'fastTrack'>, node: Pick<NodeRow, 'driverInfo'>): boolean {
  const own = node.driverInfo['fast_track'];
  if (own === undefined || own === null) return config.fastTrack;
  if (own === true || own === 'true') return true;
  if (own === false || own === 'false') return false;
  throw new AppError('invalid_argument', 'driver_info.fast_track: it must be true or false');
}

/** URLs of the ramdisk that a node boots over the network in place of the conductor's. */
export interface NodeRamdisk {
  readonly kernel: string;
  readonly ramdisk: string;
}

type RamdiskNode = Pick<NodeRow, 'uuid' | 'driverInfo'> & Parameters<typeof bootsByHttp>[0];

interface Uses {
  readonly config: { readonly nodeRamdisks: boolean };
  readonly secrets: Secrets;
}

/**
 * Reads the node's own ramdisk, `driver_info.deploy_kernel` and `deploy_ramdisk`, where nodes may have one
 * (`BATON_NODE_RAMDISKS`) and boot over iPXE.
 * @throws AppError `invalid_argument` where they are wrong: another ramdisk would clean the machine in another way
 */
export function nodeRamdisk(uses: Uses, node: RamdiskNode): NodeRamdisk | undefined {
  const { own, refusal } = readRamdisk(uses, node);
  if (refusal) throw refusal;
  return own;
}

/** Names of a ramdisk in `driver_info` that is not booted. */
export interface UnusedRamdisk {
  readonly keys: readonly string[];
  /** Why, where nodes may have one. */
  readonly fault?: string;
  /** The conductor's own isn't booted either. */
  readonly isRefused?: true;
}

export function unusedRamdisk(uses: Uses, node: RamdiskNode): UnusedRamdisk {
  const named = ['deploy_kernel', 'deploy_ramdisk', 'deploy_iso'].filter((key) => node.driverInfo[key]);
  const { own, refusal, instead } = readRamdisk(uses, node);
  if (refusal) return { keys: named, fault: refusal.message, isRefused: true };
  if (instead !== undefined) return { keys: named, fault: instead };
  return { keys: own ? named.filter((key) => key === 'deploy_iso') : named };
}

interface ReadRamdisk {
  readonly own?: NodeRamdisk;
  readonly refusal?: AppError;
  /** Why the conductor's own is booted in its place. */
  readonly instead?: string;
}

/**
 * Reads the node's own ramdisk. Nodes that came from Ironic may name images of Glance, in whose place the conductor's ramdisk
 * is booted. URLs stand in a boot script that anybody may read, so that those with a login are refused.
 */
function readRamdisk({ config, secrets }: Uses, node: RamdiskNode): ReadRamdisk {
  if (!config.nodeRamdisks || bootsFromVirtualMedia(node) || bootsByHttp(node)) return {};
  const { deploy_kernel, deploy_ramdisk } = node.driverInfo;
  if (!deploy_kernel && !deploy_ramdisk) return {};
  if (!deploy_kernel || !deploy_ramdisk) {
    const message = 'driver_info needs deploy_kernel and deploy_ramdisk, or neither';
    return { refusal: new AppError('invalid_argument', message) };
  }
  const stored = { uuid: node.uuid, driverInfo: { deploy_kernel, deploy_ramdisk } };
  const info = openNodeDocument(secrets, stored, 'driverInfo');
  if (Object.values(info).every((value) => typeof value === 'string' && isUuid(value))) {
    return {
      instead: "driver_info.deploy_kernel and deploy_ramdisk are images of Ironic's Glance, not http(s):// URLs",
    };
  }
  try {
    const [kernel, ramdisk] = [
      openUrl(info, 'deploy_kernel', 'driver_info'),
      openUrl(info, 'deploy_ramdisk', 'driver_info'),
    ];
    return { own: { kernel, ramdisk } };
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_argument') return { refusal: error };
    throw error;
  }
}
