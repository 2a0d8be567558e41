import { expect, test } from 'vitest';
import { canonicalPath } from '#conductor/http/routing/define-routes.ts';
import { askedVersion, maximumMinor, negotiateVersion } from '#conductor/http/routing/versions.ts';

const asked = (headers: Record<string, string>) => askedVersion((name) => headers[name]);

test('either header asks for a version, the standard one first', () => {
  expect(asked({})).toBeUndefined();
  expect(asked({ 'X-OpenStack-Ironic-API-Version': '1.22' })).toBe('1.22');
  expect(asked({ 'OpenStack-API-Version': 'compute 2.1, baremetal 1.80' })).toBe('1.80');
  expect(asked({ 'OpenStack-API-Version': 'baremetal 1.80', 'X-OpenStack-Ironic-API-Version': '1.22' })).toBe('1.80');
  expect(asked({ 'OpenStack-API-Version': 'compute 2.1', 'X-OpenStack-Ironic-API-Version': '1.22' })).toBe('1.22');
});

test('versions outside the range, of another major, and none at all', () => {
  expect(negotiateVersion(undefined)).toEqual({ kind: 'agreed', minor: 1 });
  expect(negotiateVersion('LATEST')).toEqual({ kind: 'agreed', minor: maximumMinor });
  expect(negotiateVersion(`1.${maximumMinor}`)).toEqual({ kind: 'agreed', minor: maximumMinor });
  expect(negotiateVersion(`1.${maximumMinor + 1}`).kind).toBe('unsupported');
  expect(negotiateVersion('1.0').kind).toBe('unsupported');
  expect(negotiateVersion('2.0')).toMatchObject({ reason: expect.stringMatching(/^Mutually exclusive/) as unknown });
  expect(negotiateVersion('1').kind).toBe('malformed');
});

test('only API paths get /v1 in front', () => {
  expect(canonicalPath('/nodes/')).toBe('/v1/nodes');
  expect(canonicalPath('/v1/nodes/x//')).toBe('/v1/nodes/x');
  expect(canonicalPath('/')).toBe('/');
  expect(canonicalPath('/v1/')).toBe('/v1');
  expect(canonicalPath('/images/nodes/x')).toBe('/images/nodes/x');
});
