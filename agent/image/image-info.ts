import { AppError } from '#shared/errors/app-error.ts';
import type { ImageInfo } from '#shared/in-band/image-info.ts';

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
