import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { NodesConfig } from '#conductor/nodes/context.ts';
import { bootsByHttp, bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';
import { openUrl } from '#conductor/nodes/ramdisk-instance.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * How a machine that is on comes into the ramdisk: through its firmware, or by kexec from a system that cooperates. That
 * system's word moves its ports to the ramdisk's network, so that `instance_info`, which lessees write, has no say.
 * @throws AppError `invalid_argument` for another value
 */
export function ramdiskBootOf({ driverInfo }: Pick<NodeRow, 'driverInfo'>): 'power' | 'kexec' {
  const value = driverInfo['ramdisk_boot'] ?? 'power';
  if (value === 'power' || value === 'kexec') return value;
  throw new AppError('invalid_argument', 'driver_info.ramdisk_boot: it must be power or kexec');
}

/**
 * Whether the node keeps its ramdisk running between flows: the conductor's setting, or `driver_info.fast_track`.
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

/** `driver_info.deploy_kernel` and `deploy_ramdisk`, where nodes may have one (`BATON_NODE_RAMDISKS`) and boot over iPXE. */
export function nodeRamdisk(uses: Uses, node: RamdiskNode): NodeRamdisk | undefined {
  const found = readRamdisk(uses, node);
  return found instanceof AppError ? undefined : found;
}

/** What of `driver_info` names a ramdisk that is not booted, but the conductor's own. */
export interface UnusedRamdisk {
  readonly keys: readonly string[];
  /** Why, where nodes may have one. */
  readonly fault?: string;
}

export function unusedRamdisk(uses: Uses, node: RamdiskNode): UnusedRamdisk {
  const named = ['deploy_kernel', 'deploy_ramdisk', 'deploy_iso'].filter((key) => node.driverInfo[key]);
  const own = readRamdisk(uses, node);
  if (own instanceof AppError) return { keys: named, fault: own.message };
  return { keys: own ? named.filter((key) => key === 'deploy_iso') : named };
}

/**
 * @returns AppError `invalid_argument` for one without the other, or what can't stand in a script that anybody may read:
 * nodes that came from Ironic may name an image of Glance, or a file there
 */
function readRamdisk({ config, secrets }: Uses, node: RamdiskNode): NodeRamdisk | AppError | undefined {
  if (!config.nodeRamdisks || bootsFromVirtualMedia(node) || bootsByHttp(node)) return undefined;
  const { deploy_kernel, deploy_ramdisk } = node.driverInfo;
  if (!deploy_kernel && !deploy_ramdisk) return undefined;
  if (!deploy_kernel || !deploy_ramdisk) {
    return new AppError('invalid_argument', 'driver_info needs deploy_kernel and deploy_ramdisk, or neither');
  }
  const stored = { uuid: node.uuid, driverInfo: { deploy_kernel, deploy_ramdisk } };
  const info = openNodeDocument(secrets, stored, 'driverInfo');
  try {
    return {
      kernel: openUrl(info, 'deploy_kernel', 'driver_info'),
      ramdisk: openUrl(info, 'deploy_ramdisk', 'driver_info'),
    };
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_argument') return error;
    throw error;
  }
}
