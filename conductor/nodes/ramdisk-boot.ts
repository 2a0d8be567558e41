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

/**
 * `driver_info.deploy_kernel` and `deploy_ramdisk`, where nodes may have one (`BATON_NODE_RAMDISKS`) and boot over iPXE.
 * @throws AppError `invalid_argument` for one without the other, or what can't stand in a script that anybody may read
 */
export function nodeRamdisk({ config, secrets }: Uses, node: RamdiskNode): NodeRamdisk | undefined {
  if (!config.nodeRamdisks || bootsFromVirtualMedia(node) || bootsByHttp(node)) return undefined;
  const { deploy_kernel: kernel, deploy_ramdisk: ramdisk } = node.driverInfo;
  if (!kernel && !ramdisk) return undefined;
  const info = openNodeDocument(
    secrets,
    { uuid: node.uuid, driverInfo: { deploy_kernel: kernel, deploy_ramdisk: ramdisk } },
    'driverInfo',
  );
  if (kernel && ramdisk)
    return {
      kernel: openUrl(info, 'deploy_kernel', 'driver_info'),
      ramdisk: openUrl(info, 'deploy_ramdisk', 'driver_info'),
    };
  throw new AppError('invalid_argument', 'driver_info needs deploy_kernel and deploy_ramdisk, or neither');
}

const ramdiskKeys = ['deploy_kernel', 'deploy_ramdisk', 'deploy_iso'];

/** Keys of `driver_info` that name a ramdisk which is not booted. */
export function unusedRamdiskKeys(uses: Uses, node: RamdiskNode): string[] {
  const named = ramdiskKeys.filter((key) => node.driverInfo[key]);
  return nodeRamdisk(uses, node) ? named.filter((key) => key === 'deploy_iso') : named;
}
