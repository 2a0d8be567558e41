import { expect, test } from 'vitest';
import { authorizationHeaders, authorizationHeadersFor, checkSupported } from '#agent/image/image-info.ts';
import { ImageInfo } from '#shared/in-band/image-info.ts';

const minimal = { id: 'disk.raw', urls: ['http://192.0.2.1/disk.raw'] };

test('what Ironic sends beyond what is needed passes', () => {
  const info = ImageInfo.parse({
    ...minimal,
    disk_format: 'raw',
    container_format: 'bare',
    node_uuid: 'x',
    kernel: null,
  });
  expect(() => checkSupported(info)).not.toThrow();
});

test.each([
  [{ disk_format: 'vmdk' }, /disk_format is "vmdk": raw, qcow2, gpt can be written/],
  [{ image_type: 'container' }, /image_type is "container": it must be "whole-disk" or "partition"/],
  [{ proxies: { http: 'http://192.0.2.9:3128' } }, /proxies is set/],
])('%j can not be written', (fields, text) => {
  expect(() => checkSupported(ImageInfo.parse({ ...minimal, ...fields }))).toThrow(text);
});

test('urls must be there, of http or https', () => {
  expect(ImageInfo.safeParse({ ...minimal, urls: [] }).success).toBe(false);
  expect(ImageInfo.safeParse({ ...minimal, urls: ['file:///etc/passwd'] }).success).toBe(false);
});

test.each([
  [{ urls: ['http://192.0.2.1/a', 'http://user@192.0.2.1/a'] }, /^image_info.urls\[1\] has a login in it/],
  [{ checksum: 'https://u:p@192.0.2.1/sums' }, /^image_info.checksum has a login in it/],
  [{ os_hash_value: 'https://:p@192.0.2.1/sums' }, /^image_info.os_hash_value has a login in it/],
])('no login in an address: %j', (fields, text) => {
  expect(() => checkSupported(ImageInfo.parse({ ...minimal, ...fields }))).toThrow(text);
});

test('the login of the image goes to its own origin only', () => {
  const info = ImageInfo.parse({ ...minimal, image_server_auth_strategy: 'http_basic', image_server_user: 'u' });
  expect(authorizationHeadersFor('http://192.0.2.1/sums', info)).toEqual({ authorization: 'Basic dTo=' });
  for (const url of ['https://192.0.2.1/sums', 'http://192.0.2.1:81/sums', 'http://192.0.2.2/sums', 'http://']) {
    expect(authorizationHeadersFor(url, info)).toEqual({});
  }
});

test('logins', () => {
  expect(authorizationHeaders(ImageInfo.parse(minimal))).toEqual({});
  const basic = { image_server_auth_strategy: 'http_basic', image_server_user: 'u', image_server_password: 'p' };
  expect(authorizationHeaders(ImageInfo.parse({ ...minimal, ...basic }))).toEqual({ authorization: 'Basic dTpw' });
  const bearer = { image_request_authorization: Buffer.from('Bearer t').toString('base64') };
  expect(authorizationHeaders(ImageInfo.parse({ ...minimal, ...bearer }))).toEqual({ authorization: 'Bearer t' });
});
