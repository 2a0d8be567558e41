import { expect, test } from 'vitest';
import { errorChain } from '#shared/errors/app-error.ts';
import { apiHostOf, isOciReference, loginNamesOf, parseOciReference, showOciReference } from '#shared/oci/reference.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const parse = (text: string) => parseOciReference(text, 'instance_info.image_source');

test.each([
  ['oci://registry.example.org/disks/debian:12', 'registry.example.org', 'disks/debian', '12', undefined],
  ['oci://registry.example.org/debian', 'registry.example.org', 'debian', 'latest', undefined],
  [`oci://127.0.0.1:5000/a/b/c@${digest}`, '127.0.0.1:5000', 'a/b/c', undefined, digest],
  [`oci://[2001:db8::1]:5000/a:v1@${digest}`, '[2001:db8::1]:5000', 'a', 'v1', digest],
  ['oci://localhost:5000/my__disk/x--y:V1.0_b', 'localhost:5000', 'my__disk/x--y', 'V1.0_b', undefined],
  ['OCI://Registry.Example.org/debian', 'registry.example.org', 'debian', 'latest', undefined],
  ['oci://docker.io/debian:12', 'docker.io', 'library/debian', '12', undefined],
  ['oci://index.docker.io/me/disk:1', 'docker.io', 'me/disk', '1', undefined],
])('%s', (text, registry, repository, tag, of) => {
  const reference = parse(text);
  expect(reference).toEqual({ registry, repository, tag, digest: of });
  expect(parse(showOciReference(reference))).toEqual(reference);
});

test.each([
  ['http://registry/a', 'it does not begin with oci://'],
  ['oci://', '"" is no registry'],
  ['oci://registry', 'the repository is missing'],
  ['oci://registry/', 'the repository is missing'],
  ['oci://me:secret@registry/a', 'it has a login in it: give that as image_pull_secret'],
  ['oci://registry:99999/a', '"registry:99999" is no registry'],
  ['oci://regi_stry/a', '"regi_stry" is no registry'],
  ['oci://registry/A', '"A" is no repository'],
  ['oci://registry/a//b', '"a//b" is no repository'],
  ['oci://registry/../a', '"../a" is no repository'],
  ['oci://registry/a:', '"" is no tag'],
  ['oci://registry/a:b:c', '"b:c" is no tag'],
  [`oci://registry/a:${'x'.repeat(129)}`, 'is no tag'],
  ['oci://registry/a@sha256:abc', '"@sha256:abc" is no digest'],
  [`oci://registry/a@sha256:${'A'.repeat(64)}`, 'is no digest'],
  ['oci://registry/a@md5:abc', 'is no digest'],
  ['oci://registry/a?x=1', 'can not be part of a reference'],
  ['oci://registry/a b', 'can not be part of a reference'],
])('%s is refused', (text, what) => {
  expect(isOciReference(text)).toBe(false);
  const refusal = ((): unknown => {
    try {
      return parse(text);
    } catch (error) {
      return error;
    }
  })();
  expect(refusal).toMatchObject({ code: 'invalid_argument' });
  expect(errorChain(refusal)).toMatch(/^instance_info\.image_source: /);
  expect(errorChain(refusal)).toContain(what);
  expect(errorChain(refusal)).not.toContain('secret@');
});

test('Docker Hub has its API and its logins under other names', () => {
  expect(apiHostOf('docker.io')).toBe('registry-1.docker.io');
  expect(apiHostOf('quay.io')).toBe('quay.io');
  expect(loginNamesOf('docker.io')).toContain('https://index.docker.io/v1/');
  expect(loginNamesOf('quay.io')[0]).toBe('quay.io');
});
