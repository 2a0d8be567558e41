import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSite } from '#conductor/sites/documents/read-site.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { usedSchemas } from '#conductor/sites/documents/yaml/upload-faults.ts';
import { isMapping, siteDocument } from '#conductor/sites/site.ts';
import * as fc from '#test/fuzz/fast-check.ts';

/** Whatever is stored: faults, never an exception, and a site only without errors. */

const known = { credentials: ['site-bmc'], networks: ['tenant'], drivers: ['redfish'], plugins: [] };
const example = ['strategy', 'configuration', 'profiles', 'nodes'].flatMap((name) => {
  const text = readFileSync(join(import.meta.dirname, 'example', `${name}.yaml`), 'utf8');
  return parseDocuments(text).documents;
});

function check(documents: readonly unknown[]): void {
  const read = documents.filter(isMapping).map((document) => siteDocument('site', document));
  const { site, faults } = readSite(read, known);
  expect(site === undefined).toBe(faults.some(({ level }) => level === 'Error'));
  for (const { message } of faults) expect(message).not.toMatch(/undefined|\[object|Invalid input/);
}

test('any data in any schema', () => {
  const document = fc.record({
    schema: fc.oneof(fc.constantFrom(...usedSchemas), fc.string()),
    metadata: fc.oneof(fc.record({ name: fc.constantFrom('a', 'b', 'deployment-strategy') }), fc.jsonValue()),
    data: fc.jsonValue(),
  });
  fc.assert(fc.property(fc.array(document, { maxLength: 8 }), check), { numRuns: 150 });
});

test('the example with anything in any place', () => {
  const places = example.flatMap((document, index) => pathsIn(document['data']).map((path) => [index, path] as const));
  const values = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(
      '!',
      null,
      0,
      -1,
      1e9,
      '',
      '*',
      'ntp-node',
      'control',
      'defaults',
      [],
      {},
      true,
      '52:54:00:00:03:01',
    ),
  );
  expect(places.length).toBeGreaterThan(100);
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...places), values), { minLength: 1, maxLength: 3 }), (changes) => {
      const documents = structuredClone(example);
      for (const [[index, path], value] of changes) put(documents[index]?.['data'], path, value);
      check(documents);
    }),
    { numRuns: 150 },
  );
});

function pathsIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, each]) => pathsIn(each, [...path, key]));
  return path.length === 0 ? inner : [path, ...inner];
}

function put(target: unknown, path: readonly string[], value: unknown): void {
  const [key = '', ...rest] = path;
  if (typeof target !== 'object' || target === null) return;
  if (rest.length === 0) Reflect.set(target, key, value);
  else put(Reflect.get(target, key), rest, value);
}
