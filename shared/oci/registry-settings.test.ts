import { expect, test } from 'vitest';
import { z } from 'zod';
import { readRegistryConfig, registryEnvironment, registryProblems } from '#shared/oci/registry-settings.ts';

const parse = (env: object) => z.object(registryEnvironment).parse(env);

test('registries and mirrors are read as references name them', () => {
  const env = parse({
    BATON_OCI_PLAIN_HTTP: 'Registry.example:5000, other',
    BATON_OCI_MIRRORS: 'docker.io=mirror.example:5000/hub , quay.io=MIRROR.example, r.example:5000=m.example/a/b,',
  });
  expect(registryProblems(env)).toEqual([]);
  const { plainHttp, mirrors } = readRegistryConfig(env);
  expect([...plainHttp]).toEqual(['registry.example:5000', 'other']);
  expect([...mirrors]).toEqual([
    ['docker.io', { registry: 'mirror.example:5000', prefix: 'hub' }],
    ['quay.io', { registry: 'mirror.example', prefix: '' }],
    ['r.example:5000', { registry: 'm.example', prefix: 'a/b' }],
  ]);
});

test.each([
  ['quay.io', 'quay.io'],
  ['quay.io=', 'quay.io='],
  ['=mirror', '=mirror'],
  ['a=b=c', 'a=b=c'],
  ['quay.io/team=mirror', 'quay.io/team=mirror'],
  ['quay.io=http://mirror', 'quay.io=http://mirror'],
  ['quay.io=me:secret@mirror', 'quay.io=…@mirror'],
  ['quay.io=mirror/', 'quay.io=mirror/'],
  ['quay.io=a,quay.io=b', 'quay.io=b'],
])('%s is refused', (list, wrong) => {
  expect(registryProblems(parse({ BATON_OCI_MIRRORS: list }))).toEqual([
    `BATON_OCI_MIRRORS: "${wrong}" must be REGISTRY=MIRROR or REGISTRY=MIRROR/PATH, each registry once`,
  ]);
});

test('a registry with a path is no host', () => {
  expect(registryProblems(parse({ BATON_OCI_PLAIN_HTTP: 'a/b' }))).toEqual([
    'BATON_OCI_PLAIN_HTTP: "a/b" must be a registry\'s host or host:port alone',
  ]);
});
