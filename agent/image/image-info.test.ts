import { expect, test } from 'vitest';
import { authorizationHeaders, checkSupported, ImageInfo } from '#agent/image/image-info.ts';

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
  [{ disk_format: 'qcow2' }, /disk_format is "qcow2": only raw/],
  [{ image_type: 'partition' }, /partition image/],
  [{ kernel: 'k', ramdisk: 'r' }, /partition image/],
  [{ proxies: { http: 'http://192.0.2.9:3128' } }, /proxies is set/],
])('%j can not be written', (fields, text) => {
  expect(() => checkSupported(ImageInfo.parse({ ...minimal, ...fields }))).toThrow(text);
});

test('urls must be there, of http or https', () => {
  expect(ImageInfo.safeParse({ ...minimal, urls: [] }).success).toBe(false);
  expect(ImageInfo.safeParse({ ...minimal, urls: ['file:///etc/passwd'] }).success).toBe(false);
});

test('logins', () => {
  expect(authorizationHeaders(ImageInfo.parse(minimal))).toEqual({});
  const basic = { image_server_auth_strategy: 'http_basic', image_server_user: 'u', image_server_password: 'p' };
  expect(authorizationHeaders(ImageInfo.parse({ ...minimal, ...basic }))).toEqual({ authorization: 'Basic dTpw' });
  const bearer = { image_request_authorization: Buffer.from('Bearer t').toString('base64') };
  expect(authorizationHeaders(ImageInfo.parse({ ...minimal, ...bearer }))).toEqual({ authorization: 'Bearer t' });
});
