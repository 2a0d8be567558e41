import { expect, test } from 'vitest';
import { newReadApart } from '#conductor/sites/apart/read-apart.ts';
import { readSite } from '#conductor/sites/documents/read-site.ts';
import { goodNode, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { renderLayers } from '#conductor/sites/rendering/render-layers.ts';
import { type SiteDocument, siteDocument } from '#conductor/sites/site.ts';

const parsed = (yaml: string): SiteDocument[] =>
  parseDocuments(yaml).documents.map((document) => siteDocument('site', document));

/** A chart whose greeting has a part of a source's text, found by a pattern. */
function charts(text: string, pattern: string): string {
  return `---
schema: test/Source/v1
metadata: {schema: metadata/Document/v1, name: source}
data: {text: '${text}'}
---
schema: test/Chart/v1
metadata:
  schema: metadata/Document/v1
  name: chart
  substitutions:
    - src: {schema: test/Source/v1, name: source, path: .text, pattern: '${pattern}'}
      dest: {path: .greeting}
data: {}
`;
}

test('what is read on the thread is as it is read here', async () => {
  const readApart = newReadApart({ idleMs: 0 });
  const schema = yamlOf('deckhand/DataSchema/v1', 'test/Chart/v1', 'type: object\nrequired: [name]');
  const documents = parsed(goodNode() + schema + charts('hello world', 'w.*d'));
  const [site, rendered] = await Promise.all([
    readApart('readSite', documents, { credentials: ['bmc'] }),
    readApart('renderLayers', documents),
  ]);
  expect(site).toEqual(readSite(documents, { credentials: ['bmc'] }));
  expect(site.site?.nodes.get('n1')?.name).toBe('n1');
  expect(site.faults.map(({ name }) => name)).toContain('SchemaViolation');
  expect(rendered).toEqual(renderLayers(documents));
  expect(rendered.documents.find(({ name }) => name === 'chart')?.data).toEqual({ greeting: 'world' });
});

const hostile = charts('x'.repeat(40), '(x+x+)+y');

test('a pattern that takes too long is given up, and everybody else goes on meanwhile', async () => {
  let beats = 0;
  const beat = setInterval(() => (beats += 1), 1);
  const reading = newReadApart()('renderLayers', parsed(hostile));
  let beatsOnThread = 0;
  const { faults } = await reading.finally(() => (beatsOnThread = beats));
  clearInterval(beat);
  expect(faults.map(({ message }) => message)).toEqual([
    expect.stringContaining('pattern "(x+x+)+y" takes too long to be searched for'),
  ]);
  // here it would hold them all up for as long as it is looked for
  expect(beatsOnThread).toBeGreaterThan(1);
});

test('what takes too long in all is refused, and the next is read on a thread of its own', async () => {
  const readApart = newReadApart({ timeoutMs: 1, idleMs: 0 });
  await expect(readApart('renderLayers', parsed(hostile))).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining('reading the documents takes longer than 0.001 s') as unknown,
  });
  // few and plain: read here
  expect(await readApart('renderLayers', parsed(goodNode()))).toEqual(renderLayers(parsed(goodNode())));
});
