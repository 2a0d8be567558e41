import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { composeSbom, readIntegrities } from '#image-build/compose-sbom.ts';

test('a list of what is shipped, by package URL', async () => {
  const lock = readIntegrities(await readFile(new URL('../package-lock.json', import.meta.url), 'utf8'));
  const integrity = lock.get('node_modules/hono');
  expect(integrity).toMatch(/^sha512-/);
  const sbom = composeSbom({
    version: '1.0.0',
    node: '24.1.0',
    npm: [
      { name: '@scope/a', version: '1.2.3', license: '(MIT OR Apache-2.0)' },
      { name: 'hono', version: '4.0.0', license: 'MIT', integrity },
    ],
    debian: ['libc6=2.36-9+deb12u9', 'mdadm=4.2~rc1-5'],
  });
  expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' });
  expect((sbom as { components: unknown[] }).components).toEqual([
    expect.objectContaining({
      purl: 'pkg:deb/debian/libc6@2.36-9%2Bdeb12u9',
      name: 'libc6',
      version: '2.36-9+deb12u9',
    }),
    expect.objectContaining({ purl: 'pkg:deb/debian/mdadm@4.2~rc1-5' }),
    expect.objectContaining({ purl: 'pkg:generic/node@24.1.0' }),
    expect.objectContaining({ purl: 'pkg:npm/%40scope/a@1.2.3', licenses: [{ expression: '(MIT OR Apache-2.0)' }] }),
    expect.objectContaining({
      purl: 'pkg:npm/hono@4.0.0',
      licenses: [{ license: { id: 'MIT' } }],
      hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) as unknown }],
    }),
  ]);
});
