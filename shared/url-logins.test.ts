import { expect, test } from 'vitest';
import { maskUrlLogins } from '#shared/url-logins.ts';

test.each([
  ['fetch https://me:pass@word@host:8443/a?b=c@d failed', 'fetch https://******@host:8443/a?b=c@d failed'],
  ['"etcd3+http://token@h","http://h/@"', '"etcd3+http://******@h","http://h/@"'],
  ['mail me@host, see http://host', 'mail me@host, see http://host'],
])('%s', (text, masked) => {
  expect(maskUrlLogins(text)).toBe(masked);
});
