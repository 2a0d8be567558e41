import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { parseImageChecksum } from '#conductor/model/image-checksum.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { bootModeOf, capabilityOf } from '#conductor/nodes/boot/boot-mode.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { parsePullSecret } from '#shared/oci/pull-secret.ts';
import { isOciSource, parseOciReference } from '#shared/oci/reference.ts';
import type { ResolvedImage } from '#shared/oci/resolve-image.ts';
import { checkOutboundUrl, type OutboundRules } from '#shared/peers/outbound-url.ts';
import { hasSoftwareRaid } from '#shared/raid/target-raid-config.ts';

type ImageNode = Pick<NodeRow, 'uuid' | 'instanceInfo' | 'properties' | 'bootMode' | 'raidConfig' | 'targetRaidConfig'>;

/** Formats that the agent can write; `gpt` is Ironic's word for a raw image with a partition table. */
export const imageFormats: readonly string[] = ['raw', 'qcow2', 'gpt'];

/** Returns which kind of image it is (agent-protocol.md §6.2). */
export function isPartitionImage(info: Readonly<Record<string, unknown>>): boolean {
  const type = info['image_type'];
  return type === 'partition' || (type !== 'whole-disk' && Boolean(info['kernel']) && Boolean(info['ramdisk']));
}

/** An image's file in a registry, as it was found for this write. */
type RegistryFile = Pick<ResolvedImage, 'url' | 'digest' | 'title' | 'format' | 'authorization'>;

/**
 * Makes the `image_info` argument of `write_image` from `instance_info` (agent-protocol.md §6.1).
 * @param file of an image in a registry; without it the fields are only checked
 * @throws AppError `invalid_argument` naming the missing or wrong field.
 */
export function buildImageInfo(node: ImageNode, file?: RegistryFile): Record<string, unknown> {
  const info = node.instanceInfo;
  const source = info['image_source'];
  const isInRegistry = isOciSource(source);
  if (typeof source !== 'string' || !(isInRegistry || /^https?:\/\/\S+$/.test(source))) {
    throw new AppError(
      'invalid_argument',
      'instance_info.image_source must be an http:// or https:// URL of the image, or oci://registry/repository:tag',
    );
  }
  const type = info['image_type'] ?? 'whole-disk';
  if (type !== 'whole-disk' && type !== 'partition') {
    throw new AppError('invalid_argument', 'instance_info.image_type must be "whole-disk" or "partition"');
  }
  const format = info['image_disk_format'] ?? (isInRegistry ? file?.format : 'raw');
  const isOpen = isInRegistry && format === undefined;
  if (!isOpen && (typeof format !== 'string' || !imageFormats.includes(format))) {
    throw new AppError(
      'not_supported',
      `instance_info.image_disk_format ${JSON.stringify(format)} is not supported: it must be one of ${imageFormats.join(', ')}`,
    );
  }
  return {
    ...(isInRegistry ? fileFields(info, source, file) : urlFields(info, source)),
    ...(format === undefined ? {} : { disk_format: format }),
    container_format: 'bare',
    stream_raw_images: true,
    node_uuid: node.uuid,
    ...(isPartitionImage(info) ? partitionFields(node) : {}),
  };
}

function urlFields(info: ImageNode['instanceInfo'], source: string): Record<string, unknown> {
  return { id: new URL(source).pathname.split('/').at(-1) || source, urls: [source], ...checksum(info) };
}

/** Makes the fields for the file's URL, its authorization, and its digest, by which its bytes are checked as they arrive. */
function fileFields(
  info: ImageNode['instanceInfo'],
  source: string,
  file: RegistryFile | undefined,
): Record<string, unknown> {
  const { repository } = parseOciReference(source, 'instance_info.image_source');
  const { image_pull_secret: secret } = info;
  if ((secret ?? '') !== '') parsePullSecret(secret, 'instance_info.image_pull_secret');
  requireNoOtherDigest(info, file?.digest);
  if (!file) return {};
  const [algorithm, hex] = file.digest.split(':');
  return {
    id: file.title ?? repository.split('/').at(-1) ?? repository,
    urls: [file.url],
    os_hash_algo: algorithm,
    os_hash_value: hex,
    ...(file.authorization === undefined
      ? {}
      : { image_request_authorization: Buffer.from(file.authorization, 'utf8').toString('base64') }),
  };
}

/**
 * Checks that a checksum which is given with an image in a registry is the file's digest. Ironic ignores it; but a checksum
 * that somebody has given must not go unchecked.
 * @param digest of the file, where it is known
 * @throws AppError `invalid_argument`.
 */
export function requireNoOtherDigest(info: JsonObject, digest: string | undefined): void {
  const fields = ['image_os_hash_value', 'image_checksum'].filter((each) => (info[each] ?? '') !== '');
  for (const field of fields) {
    const given = info[field];
    const parsed = typeof given === 'string' ? parseImageChecksum(given) : undefined;
    const says = parsed && 'hex' in parsed ? `${parsed.algorithm}:${parsed.hex}` : undefined;
    if (says !== undefined && (digest === undefined || says === digest)) continue;
    const is = digest === undefined ? 'its digest' : `its digest, ${digest}`;
    throw new AppError(
      'invalid_argument',
      `instance_info.${field}: an image in a registry is checked by ${is}: leave the field out`,
    );
  }
}

/**
 * The same for an agent that takes every `checksum` for an MD5: those of before 2022 know the others as a pair only.
 */
export function withHashPair(imageInfo: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { checksum: value, ...others } = imageInfo;
  const parsed = typeof value === 'string' ? parseImageChecksum(value) : undefined;
  if (!parsed || 'url' in parsed) return imageInfo;
  return { ...others, os_hash_algo: parsed.algorithm, os_hash_value: parsed.hex };
}

/** Gives the fields that a root file system image needs besides: how its disk is to be laid out. */
function partitionFields(node: ImageNode): Record<string, unknown> {
  const info = node.instanceInfo;
  if (hasSoftwareRaid(node.raidConfig) || hasSoftwareRaid(node.targetRaidConfig)) {
    throw new AppError(
      'invalid_argument',
      'instance_info describes a partition image, which can not be put on software RAID: give a whole-disk image',
    );
  }
  const rootGb = sizeOf(info, 'root_gb');
  if (rootGb === 0) {
    throw new AppError(
      'invalid_argument',
      'instance_info.root_gb is missing: a partition image needs the size of its root partition in GiB',
    );
  }
  const ephemeralGb = sizeOf(info, 'ephemeral_gb');
  const preserve = info['preserve_ephemeral'] ?? false;
  if (typeof preserve !== 'boolean') {
    throw new AppError('invalid_argument', 'instance_info.preserve_ephemeral must be true or false');
  }
  if (preserve && ephemeralGb === 0) {
    throw new AppError('invalid_argument', 'instance_info.preserve_ephemeral needs ephemeral_gb beside it');
  }
  const diskLabel = diskLabelOf(node);
  return {
    image_type: 'partition',
    ...(typeof info['kernel'] === 'string' ? { kernel: info['kernel'] } : {}),
    ...(typeof info['ramdisk'] === 'string' ? { ramdisk: info['ramdisk'] } : {}),
    root_gb: rootGb,
    root_mb: rootGb * 1024,
    swap_mb: sizeOf(info, 'swap_mb'),
    ephemeral_mb: ephemeralGb * 1024,
    ephemeral_format: ephemeralFormat(info),
    preserve_ephemeral: preserve,
    boot_option: 'local',
    deploy_boot_mode: bootModeOf(node),
    ...(diskLabel === undefined ? {} : { disk_label: diskLabel }),
  };
}

/** Sizes may be given as text, as the command line does. */
function sizeOf(info: ImageNode['instanceInfo'], field: string): number {
  const value = info[field] ?? 0;
  const size = typeof value === 'string' ? Number(value) : value;
  if (typeof size === 'number' && Number.isSafeInteger(size) && size >= 0) return size;
  throw new AppError('invalid_argument', `instance_info.${field} must be a whole number of 0 or more`);
}

function ephemeralFormat(info: ImageNode['instanceInfo']): string {
  const format = info['ephemeral_format'] ?? 'ext4';
  if (typeof format === 'string' && ephemeralFormats.includes(format)) return format;
  throw new AppError(
    'invalid_argument',
    `instance_info.ephemeral_format must be one of ${ephemeralFormats.join(', ')}`,
  );
}

const ephemeralFormats: readonly string[] = ['ext2', 'ext3', 'ext4', 'vfat'];

/**
 * Returns the disk label that `instance_info.capabilities` asks for, as in Ironic; without one the agent goes by the boot
 * mode.
 */
function diskLabelOf(node: ImageNode): string | undefined {
  const label = capabilityOf(node, 'disk_label');
  if (label === undefined) return undefined;
  if (label !== 'gpt' && label !== 'msdos') {
    throw new AppError('invalid_argument', 'instance_info.capabilities: disk_label must be gpt or msdos');
  }
  if (label === 'msdos' && bootModeOf(node) === 'uefi') {
    throw new AppError('invalid_argument', 'instance_info.capabilities: disk_label msdos can not be booted by UEFI');
  }
  return label;
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
  const given = info['image_checksum'];
  if (typeof given === 'string') {
    const parsed = parseImageChecksum(given);
    // an agent tells a digest by its length alone; "sha256:" before it would be taken for a wrong one
    return { checksum: parsed && 'hex' in parsed ? parsed.hex : given };
  }
  throw new AppError(
    'invalid_argument',
    'instance_info needs image_os_hash_algo (sha256 or sha512) with image_os_hash_value, or image_checksum (hex digest or URL)',
  );
}

/** Fields of `instance_info` that the agent, or what the machine boots, fetches. */
const fetchedFields = [
  'image_source',
  'image_checksum',
  'image_os_hash_value',
  'kernel',
  'ramdisk',
  'boot_iso',
  'configdrive',
];

/**
 * Returns whether the machine may fetch what its instance is made of: it can reach networks that the caller must not.
 * @throws AppError `forbidden` naming the field (`BATON_IMAGE_URL_ALLOW`).
 */
export function checkImageUrls(instanceInfo: JsonObject, rules: OutboundRules): void {
  for (const field of fetchedFields) checkFetched(`instance_info.${field}`, instanceInfo[field], rules);
}

/** The same for a config drive, which may be its own text as well. */
export function checkFetched(what: string, value: unknown, rules: OutboundRules): void {
  if (typeof value !== 'string') return;
  if (/^\s*https?:/i.test(value)) checkOutboundUrl(what, value.trim(), rules);
  // another form is refused where the field is read
  const registry = /^\s*oci:\/\/([^/]+)/i.exec(value)?.[1];
  if (registry !== undefined) checkOutboundUrl(what, `https://${registry}/`, rules);
}

/**
 * The same for the files of requested `inject_files` steps; the agent looks again, at what templates in them lead to.
 * @throws AppError `forbidden`, `invalid_argument` naming step and file.
 */
export function checkStepUrls(
  steps: readonly { readonly step: string; readonly args?: Readonly<Record<string, unknown>> | undefined }[],
  rules: OutboundRules,
): void {
  for (const { step, args } of steps) {
    if (step === 'inject_files') checkInjectedFiles('inject_files: files', args?.['files'], rules);
  }
}

function checkInjectedFiles(what: string, files: unknown, rules: OutboundRules): void {
  for (const [index, file] of (Array.isArray(files) ? (files as unknown[]) : []).entries()) {
    const content = typeof file === 'object' && file !== null && 'content' in file ? file.content : undefined;
    const isFilledIn = typeof content === 'string' && /[{}]/.test(content);
    if (!isFilledIn) checkFetched(`${what}[${index}].content`, content, rules);
  }
}
