import { expect, test } from 'vitest';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { maskedPaths, renderSite } from '#conductor/sites/rendering/mask-encrypted.ts';
import { renderLayers } from '#conductor/sites/rendering/render-layers.ts';
import { type SiteDocument, siteDocument } from '#conductor/sites/site.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const word = 'Zx9secretZx9';
const read = (text: string) => parseDocuments(text).documents.map((document) => siteDocument('site', document));
const dataOf = (documents: readonly SiteDocument[], name: string) => documents.find((each) => each.name === name)?.data;

const policy = `
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: policy}
data: {layerOrder: [global, site]}
---
`;

test('values go as masks through layers and substitutions of substitutions', () => {
  const { documents, shown, faults } = renderSite(
    read(`${policy}
schema: a/Secret/v1
metadata: {name: secret, storagePolicy: encrypted}
data: {user: root, list: [${word}]}
---
schema: a/Middle/v1
metadata:
  name: middle
  labels: {parent: 'yes'}
  layeringDefinition: {layer: global}
  substitutions: [{src: {schema: a/Secret/v1, name: secret, path: '.list[0]'}, dest: {path: .url, pattern: PASSWORD}}]
data: {url: 'http://me:PASSWORD@host', open: 1}
---
schema: a/Middle/v1
metadata:
  name: child
  layeringDefinition: {layer: site, parentSelector: {parent: 'yes'}, actions: [{method: merge, path: .}]}
data: {own: 2}
---
schema: a/Last/v1
metadata:
  name: last
  substitutions: [{src: {schema: a/Middle/v1, name: child, path: .}, dest: {path: .inner}}]
data: {open: 3}
`),
  );
  expect(faults).toEqual([]);
  expect(dataOf(documents, 'last')).toEqual({
    open: 3,
    inner: { url: `http://me:${word}@host`, open: 1, own: 2 },
  });
  expect(dataOf(shown, 'last')).toEqual({ open: 3, inner: { url: 'http://me:******@host', open: 1, own: 2 } });
  expect(dataOf(shown, 'secret')).toBe('******');
  expect(maskedPaths(dataOf(documents, 'last'), dataOf(shown, 'last'))).toEqual(['inner.url']);
});

test('where a pattern stands in the value itself, nothing of the document is shown', () => {
  const { shown } = renderSite(
    read(`
schema: a/Secret/v1
metadata: {name: secret, storagePolicy: encrypted}
data: ${word} MARK
---
schema: a/Open/v1
metadata:
  name: open
  substitutions:
    - {src: {schema: a/Secret/v1, name: secret, path: .}, dest: {path: .x}}
    - {src: {schema: a/Secret/v1, name: secret, path: .}, dest: {path: .x, pattern: MARK}}
data: {}
`),
  );
  expect(dataOf(shown, 'open')).toBe('******');
});

/** Each document may take of those before it, whole or into a text; any of them may be encrypted. */
const sites = fc.array(
  fc.record({
    encrypted: fc.boolean(),
    takes: fc.array(fc.record({ from: fc.nat(5), into: fc.constantFrom('.a', '.b.c', '.text') }), { maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 6 },
);

test('whatever is substituted where, no value of an encrypted document is shown, and what is worked from is as it was', () => {
  fc.assert(
    fc.property(sites, (site) => {
      const documents = site.map(({ encrypted, takes }, index): SiteDocument => {
        const substitutions = takes
          .filter(({ from }) => from < index)
          .map(({ from, into }) => ({
            src: { schema: 'a/Any/v1', name: `d${from}`, path: '.v' },
            dest: into === '.text' ? { path: into, pattern: 'MARK' } : { path: into },
          }));
        const metadata = {
          name: `d${index}`,
          storagePolicy: encrypted ? 'encrypted' : 'cleartext',
          substitutions: [
            ...substitutions,
            // what it took may go on from it
            ...(substitutions.length > 0
              ? [{ ...substitutions[0], dest: { path: '.v', pattern: `open${index}` } }]
              : []),
          ],
        };
        const data = { v: encrypted ? `${word}${index} open${index}` : `open${index}`, text: 'MARK MARK' };
        return { collection: 'site', schema: 'a/Any/v1', name: `d${index}`, metadata, data };
      });
      const rendered = renderSite(documents);
      expect(rendered.documents).toEqual(renderLayers(documents).documents);
      expect(rendered.shown).toHaveLength(rendered.documents.length);
      expect(JSON.stringify(rendered.shown)).not.toContain(word);
    }),
    { numRuns: 300 },
  );
});
