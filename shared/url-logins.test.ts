import { expect, test } from 'vitest';
import { maskUrlLogins } from '#shared/url-logins.ts';

test.each([
  ['fetch https://me:pass@word@host:8443/a?b=c@d failed', 'fetch https://******@host:8443/a?b=c@d failed'],
  ['"etcd3+http://token@h","http://h/@"', '"etcd3+http://******@h","http://h/@"'],
  ['http://h/a?sv=1&sig=ab%2Fc%3D&se=2 failed', 'http://h/a?sv=1&sig=******&se=2 failed'],
  ['http://h/a?X-Amz-Date=1&X-Amz-Signature=0af3"', 'http://h/a?X-Amz-Date=1&X-Amz-Signature=******"'],
  ['http://h/a?temp_url_sig=0af3#b', 'http://h/a?temp_url_sig=******#b'],
  ['http://h/a?signed=1&design=2', 'http://h/a?signed=1&design=2'],
  ['mail me@host, see http://host', 'mail me@host, see http://host'],
])('%s', (text, masked) => {
  expect(maskUrlLogins(text)).toBe(masked);
});
