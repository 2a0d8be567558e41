import type { NodeRow } from '#conductor/db/schema/node.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * The `image_info` argument of `write_image` from `instance_info` (agent-protocol.md §6.1).
 * @throws AppError `invalid_argument` naming the missing or wrong field.
 */
export function buildImageInfo(node: Pick<NodeRow, 'uuid' | 'instanceInfo'>): Record<string, unknown> {
  const info = node.instanceInfo;
  const source = info['image_source'];
  if (typeof source !== 'string' || !/^https?:\/\/\S+$/.test(source)) {
    throw new AppError(
      'invalid_argument',
      'instance_info.image_source must be an http:// or https:// URL of the image',
    );
  }
  if (info['image_type'] === 'partition' || info['kernel'] !== undefined || info['ramdisk'] !== undefined) {
    throw new AppError(
      'not_supported',
      'instance_info: partition images (image_type partition, kernel, ramdisk) are not supported yet: give a whole-disk image',
    );
  }
  const format = info['image_disk_format'] ?? 'raw';
  if (format !== 'raw') {
    throw new AppError(
      'not_supported',
      `instance_info.image_disk_format ${JSON.stringify(format)} is not supported yet: raw is`,
    );
  }
  return {
    id: new URL(source).pathname.split('/').at(-1) || source,
    urls: [source],
    disk_format: 'raw',
    container_format: 'bare',
    stream_raw_images: true,
    node_uuid: node.uuid,
    ...checksum(info),
  };
}

function checksum(info: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const algorithm = info['image_os_hash_algo'];
  const value = info['image_os_hash_value'];
  if (typeof algorithm === 'string' && typeof value === 'string') {
    if (algorithm !== 'sha256' && algorithm !== 'sha512') {
      throw new AppError('invalid_argument', 'instance_info.image_os_hash_algo must be sha256 or sha512');
    }
    return { os_hash_algo: algorithm, os_hash_value: value };
  }
  if (typeof info['image_checksum'] === 'string') return { checksum: info['image_checksum'] };
  throw new AppError(
    'invalid_argument',
    'instance_info needs image_os_hash_algo (sha256 or sha512) with image_os_hash_value, or image_checksum (hex digest or URL)',
  );
}
