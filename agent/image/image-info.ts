import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';

const size = z.coerce.number().int().nonnegative().nullish();

/** `image_info` of the write step (agent-protocol.md §6.1); keys that are not needed here pass unseen. */
export const ImageInfo = z.looseObject({
  /** Last path segment of the image's source. */
  id: z.string(),
  /** The same image at several places: the next one is tried when one fails. */
  urls: z.array(z.url({ protocol: /^https?$/ })).min(1),
  disk_format: z.string().nullish(),
  container_format: z.string().nullish(),
  /** A hex digest, told apart by its length, or the http(s) URL of a checksum file. */
  checksum: z.string().nullish(),
  os_hash_algo: z.string().nullish(),
  os_hash_value: z.string().nullish(),
  image_type: z.string().nullish(),
  kernel: z.string().nullish(),
  ramdisk: z.string().nullish(),
  /** From here on: for partition images. Sizes of partitions; `root_mb` goes before `root_gb`. */
  root_gb: size,
  root_mb: size,
  swap_mb: size,
  ephemeral_mb: size,
  ephemeral_format: z.string().nullish(),
  preserve_ephemeral: z.boolean().nullish(),
  disk_label: z.enum(['gpt', 'msdos']).nullish(),
  deploy_boot_mode: z.enum(['bios', 'uefi']).nullish(),
  boot_option: z.string().nullish(),
  image_server_auth_strategy: z.string().nullish(),
  image_server_user: z.string().nullish(),
  image_server_password: z.string().nullish(),
  /** Base64 of the value of an Authorization header. */
  image_request_authorization: z.string().nullish(),
  proxies: z.record(z.string(), z.string()).nullish(),
});
export type ImageInfo = z.infer<typeof ImageInfo>;

/** `gpt` is Ironic's word for a raw image with a partition table. */
const writableFormats: readonly string[] = ['raw', 'qcow2', 'gpt'];

/**
 * @throws AppError `not_supported` for images that this agent can't write yet, `invalid_argument` for addresses with a
 * login in them, before anything is touched.
 */
export function checkSupported(info: ImageInfo): void {
  for (const [index, url] of info.urls.entries()) requireNoLogin(url, `image_info.urls[${index}]`);
  if (info.checksum) requireNoLogin(info.checksum, 'image_info.checksum');
  if (info.os_hash_value) requireNoLogin(info.os_hash_value, 'image_info.os_hash_value');
  if (info.disk_format && !writableFormats.includes(info.disk_format)) {
    throw new AppError(
      'not_supported',
      `image_info.disk_format is "${info.disk_format}": ${writableFormats.join(', ')} can be written (raw ones plain or compressed with zstd, gzip or xz)`,
    );
  }
  if (info.image_type && !['partition', 'whole-disk'].includes(info.image_type)) {
    throw new AppError(
      'invalid_argument',
      `image_info.image_type is "${info.image_type}": it must be "whole-disk" or "partition"`,
    );
  }
  if (info.proxies && Object.keys(info.proxies).length > 0) {
    throw new AppError('not_supported', 'image_info.proxies is set: images can only be fetched without a proxy');
  }
}

/**
 * An address goes into logs and messages, a password must not.
 * @param field for the message: `image_info.urls[0]`
 * @throws AppError `invalid_argument`.
 */
export function requireNoLogin(value: string, field: string): void {
  const url = /^https?:/.test(value) ? URL.parse(value) : null;
  if (!url?.username && !url?.password) return;
  throw new AppError(
    'invalid_argument',
    `${field} has a login in it (user:password@): give it as image_info.image_server_user and image_server_password with image_server_auth_strategy "http_basic"`,
  );
}

/** Headers that let the image server know us; empty when the image is free to read. */
export function authorizationHeaders(info: ImageInfo): Readonly<Record<string, string>> {
  if (info.image_request_authorization) {
    return { authorization: Buffer.from(info.image_request_authorization, 'base64').toString('utf8') };
  }
  if (info.image_server_auth_strategy === 'http_basic') {
    const login = `${info.image_server_user ?? ''}:${info.image_server_password ?? ''}`;
    return { authorization: `Basic ${Buffer.from(login).toString('base64')}` };
  }
  return {};
}

/** The same for a document beside the image, as its checksum file: only where the image itself is. */
export function authorizationHeadersFor(url: string, info: ImageInfo): Readonly<Record<string, string>> {
  const isBeside = info.urls.some((each) => new URL(each).origin === URL.parse(url)?.origin);
  return isBeside ? authorizationHeaders(info) : {};
}
