import { expect, test } from 'vitest';
import { requireSecretForNewRegistry } from '#conductor/nodes/change/pull-secret-way.ts';

const before = { image_source: 'oci://registry.example/disk:1', image_pull_secret: 'sealed' };
const http = { image_source: 'http://images.example/disk', image_pull_secret: 'sealed' };

test.each([
  ['another image of the registry', { ...before, image_source: 'oci://registry.example/other:2' }, before],
  [
    'another registry with the secret written again',
    { image_source: 'oci://evil.example/d', image_pull_secret: 'new' },
    before,
  ],
  ['another registry without it', { image_source: 'oci://evil.example/d' }, before],
  ['a web server, which is not sent it', { ...before, image_source: 'http://evil.example/d' }, before],
  ['nothing new', before, before],
  ['a first image', before, {}],
])('%s is allowed', (_, after, was) => {
  expect(() => requireSecretForNewRegistry(after, was)).not.toThrow();
});

test.each([
  ['another registry', { ...before, image_source: 'oci://evil.example/disk:1' }, before],
  ['another port', { ...before, image_source: 'oci://registry.example:5000/disk:1' }, before],
  ['a whole reference in place of one that lacks its repository', before, { ...before, image_source: 'oci://a' }],
  ['a registry in place of a web server', { ...http, image_source: 'oci://evil.example/disk:1' }, http],
])('%s is refused while the secret is kept', (_, after, was) => {
  expect(() => requireSecretForNewRegistry(after, was)).toThrow(/image_pull_secret again in the same request/);
});
