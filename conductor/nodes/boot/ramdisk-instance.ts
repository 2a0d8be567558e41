import type { BootedInstance } from '#conductor/boot/ipxe-script.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { bootsFromVirtualMedia, interfaceOf } from '#conductor/nodes/node-interfaces.ts';
import { AppError } from '#shared/errors/app-error.ts';

type InstanceNode = Parameters<typeof interfaceOf>[0] & Pick<NodeRow, 'instanceInfo'>;

/** Checks whether the instance is booted from a ramdisk or an ISO each time, so that nothing is written to a disk. */
export function runsFromRamdisk(node: Parameters<typeof interfaceOf>[0]): boolean {
  return interfaceOf(node, 'deploy') === 'ramdisk';
}

/**
 * Reads what `deploy_interface` `ramdisk` boots, by `instance_info`: `boot_iso`, or `kernel` and `ramdisk`.
 * @throws AppError `invalid_argument` naming the missing or wrong field, or a URL with a login that iPXE would be sent:
 * anybody who sends its MAC address gets the same; `not_supported` for a ramdisk as a CD
 */
export function ramdiskInstance(node: InstanceNode): BootedInstance {
  const info = node.instanceInfo;
  const isVirtual = bootsFromVirtualMedia(node);
  const url = (field: string): string => (isVirtual ? fetchedUrl(info, field) : openUrl(info, field));
  if (info['boot_iso'] !== undefined && info['boot_iso'] !== null) {
    return { kind: 'iso', url: url('boot_iso') };
  }
  if (!info['kernel'] || !info['ramdisk']) {
    throw new AppError(
      'invalid_argument',
      'instance_info needs boot_iso, or kernel and ramdisk: deploy_interface ramdisk boots these and writes nothing',
    );
  }
  if (isVirtual) {
    throw new AppError(
      'not_supported',
      'instance_info.kernel and ramdisk are booted over the network: with virtual media give boot_iso',
    );
  }
  const params = info['kernel_append_params'] ?? info['ramdisk_kernel_arguments'] ?? '%default%';
  if (typeof params !== 'string') {
    throw new AppError('invalid_argument', 'instance_info.kernel_append_params must be text');
  }
  return {
    kind: 'kernel',
    kernel: url('kernel'),
    ramdisk: url('ramdisk'),
    kernelParams: params,
  };
}

/** Returns a URL that iPXE and BMCs fetch unchanged. */
function fetchedUrl(info: JsonObject, field: string, place = 'instance_info'): string {
  const value = info[field];
  if (typeof value === 'string' && /^https?:\/\/[\x21-\x7e]+$/.test(value) && !value.includes('${')) return value;
  throw new AppError('invalid_argument', `${place}.${field} must be an http:// or https:// URL without blanks`);
}

/** The same, in a script that is sent to anybody who asks. */
export function openUrl(info: JsonObject, field: string, place = 'instance_info'): string {
  const url = fetchedUrl(info, field, place);
  if (!/^https?:\/\/[^/?#]*@/.test(url)) return url;
  throw new AppError(
    'invalid_argument',
    `${place}.${field} must be a URL without a login: iPXE is sent it, and so is anybody who asks for the node's ` +
      'script; only virtual media keeps one (boot_iso)',
  );
}
